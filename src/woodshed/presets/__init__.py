"""Tuned settings for each environment, as TOML: a file each, in it a table per algorithm."""

from woodshed.presets.load import preset_names, preset_settings, preset_text

__all__ = ["preset_names", "preset_settings", "preset_text"]
