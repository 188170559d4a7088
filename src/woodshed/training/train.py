"""Training: the loop."""

from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from woodshed.envs import EnvironmentFactory, bounded_box
from woodshed.errors import WoodshedError
from woodshed.runners import Episode
from woodshed.training.clock import Clock
from woodshed.training.compiled import (
    compile_ahead,
    compiled_act,
    compiled_update,
    in_updates,
)
from woodshed.training.evaluation import Evaluation
from woodshed.training.interrupt import StopRequest, stop_on_signals
from woodshed.training.metrics import MetricsWriter
from woodshed.training.parts import Parts, make_parts
from woodshed.training.policy import Policy, save_policy
from woodshed.training.reporter import Reporter, SilentReporter
from woodshed.training.result import SOLVED, Result
from woodshed.training.run_folder import BEST_POLICY, LAST_POLICY, new_run_folder, write_settings
from woodshed.training.settings import Settings
from woodshed.training.updates import exact_ratio, owed_updates

HELD_OUT = 1_000_000
"""First episode of the final evaluation: no evaluation before it gets that far."""
RECENT_EPISODES = 100
"""Training episodes that the reported return and success are means of."""


def train(
    env: str | EnvironmentFactory,
    settings: Settings[Any],
    out: Path,
    *,
    reporter: Reporter | None = None,
) -> Result:
    """Train a policy, into a new run folder.

    Args:
        env: Gymnasium id, or a function that makes an environment.
        settings: of the run.
        out: the run folder; it must not hold anything yet.
        reporter: told how it goes; nobody by default.

    Returns:
        What is in the folder's `result.json`.

    Raises:
        WoodshedError: for settings that do not fit the environment, a folder that exists, numbers
            that are not finite.
    """
    clock = Clock()
    with ExitStack() as closing:
        parts = make_parts(env, settings, closing)
        folder = new_run_folder(out)
        write_settings(folder, env, settings)
        metrics = MetricsWriter(folder)
        closing.callback(metrics.close)
        run = _Run(settings, parts, folder, metrics, reporter or SilentReporter(), clock)
        try:
            with stop_on_signals() as stop:
                run.loop(stop)
        except BaseException:
            with suppress(Exception):  # the error that ended the run is the one to tell
                run.finish(interrupted=True)
            raise
        return run.finish(interrupted=stop.asked)


class _Run:
    """A run under way: its parts, and what changes while it goes on."""

    def __init__(
        self,
        settings: Settings[Any],
        parts: Parts,
        folder: Path,
        metrics: MetricsWriter,
        reporter: Reporter,
        clock: Clock,
    ) -> None:
        self.settings, self.parts, self.folder = settings, parts, folder
        self.metrics, self.reporter, self.clock = metrics, reporter, clock
        self.update = compiled_update(settings.algorithm, parts.encoder)
        self.act = compiled_act(settings.algorithm, parts.encoder)
        self.action_shape = bounded_box(parts.environments.action_space).shape
        self.state = parts.state
        self.compiling = compile_ahead(settings, parts, self.scale)
        self.ratio = exact_ratio(settings.updates_per_step)
        self.env_steps = 0
        self.updates = 0
        self.recent: deque[Episode] = deque(maxlen=RECENT_EPISODES)
        self.losses: list[Mapping[str, jax.Array]] = []
        self.best: tuple[Evaluation, Policy] | None = None
        self.solved: tuple[int, float] | None = None
        self.reported = (0, 0, 0.0)

    def loop(self, stop: StopRequest) -> None:
        """Step and learn until the last step, or until asked to stop."""
        settings = self.settings
        while self.env_steps < settings.steps and not stop.asked:
            # Sampling goes before acting, which waits for the updates that are still running; the
            # new ones then run while the environments step.
            batches = self.sample_owed()
            action = self.choose_action()
            self.learn(batches)
            before = self.env_steps
            self.step(action)
            if _passes(before, self.env_steps, settings.log_every):
                self.report()
            due = _passes(before, self.env_steps, settings.evaluate_every) and self.updates
            if due and self.env_steps < settings.steps:
                self.evaluate()
        self.learn(self.sample_owed())
        if self.env_steps > self.reported[0]:
            self.report()
        if settings.evaluate_every and self.updates and not stop.asked:
            self.evaluate()  # after the last updates, so that they can be the best

    def choose_action(self) -> NDArray[np.float32]:
        """`[L, …]` in [-1, 1]: uniform before learning starts, then the policy's."""
        runner = self.parts.runner
        if self.env_steps < self.settings.learning_starts:
            return runner.random_action()
        self.compiling.result()
        action = self.act(
            self.state.actor,
            self.scale,
            runner.observation,
            self.parts.key,
            self.env_steps,
            explore=True,
        )
        chosen = np.asarray(action).reshape(-1, *self.action_shape)
        if not np.isfinite(chosen).all():
            raise self.divergence(["action"])
        return chosen

    @property
    def scale(self) -> Any:
        """What observations are normalised by now; None to leave them as they are."""
        normaliser = self.parts.normaliser
        return None if normaliser is None else normaliser.scale

    def step(self, action: NDArray[np.float32]) -> None:
        """Step the environments once."""
        step, ended = self.parts.runner.step(action)
        if self.parts.normaliser is not None:
            self.parts.normaliser.observe(step.observation)
        self.env_steps += int(step.stepped.sum())
        self.recent.extend(ended)
        self.reporter.advance(self.env_steps)

    def sample_owed(self) -> Any:
        """Batches `[K, B, …]` for the K updates that are due; None where none is."""
        settings = self.settings
        owed = owed_updates(self.env_steps, settings.learning_starts, self.ratio, self.updates)
        if owed == 0:
            return None
        batch = self.parts.buffer.sample(owed * settings.batch_size)
        return in_updates(batch, owed)

    def learn(self, batches: Any) -> None:
        """Begin the updates on some batches; they go on in the background."""
        if batches is None:
            return
        self.state, losses, _ = self.update(self.state, self.scale, batches)
        self.losses.append(losses)
        self.updates += len(batches.reward)

    def report(self) -> None:
        """Write and tell the numbers since the last report.

        Raises:
            WoodshedError: when the losses are no longer finite.
        """
        seconds = self.clock.seconds
        steps_before, updates_before, seconds_before = self.reported
        span = max(seconds - seconds_before, 1e-9)
        metrics = {
            "updates": self.updates,
            "train_seconds": seconds,
            "steps_per_second": (self.env_steps - steps_before) / span,
            "updates_per_second": (self.updates - updates_before) / span,
            **_episode_metrics(self.recent),
            **_mean_losses(self.losses),
        }
        self.losses.clear()
        self.reported = (self.env_steps, self.updates, seconds)
        self.metrics.write(metrics, self.env_steps)
        self.reporter.metrics(self.env_steps, metrics)
        broken = [name for name, value in metrics.items() if not np.isfinite(value)]
        if broken:
            raise self.divergence(broken)

    def divergence(self, broken: list[str]) -> WoodshedError:
        """The error that numbers which are no longer finite call for."""
        saved = "" if self.best is None else f". The best policy so far is in {self.folder}"
        return WoodshedError(
            f"training diverged: {', '.join(broken)} is not finite at step {self.env_steps:,}; "
            f"lower the learning rate, or check the scale of the rewards{saved}"
        )

    def evaluate(self) -> None:
        """Evaluate the policy as it is, and keep it where it is the best one."""
        jax.block_until_ready(self.state)
        seconds = self.clock.seconds
        with self.clock.paused():
            policy = self.policy()
            evaluation = self.parts.evaluator.run(policy, self.settings.evaluate_episodes)
            success = evaluation.success_rate
            if self.solved is None and success is not None and success >= SOLVED:
                self.solved = (self.env_steps, seconds)
            if self.best is None or evaluation.score >= self.best[0].score:
                self.best = (evaluation, policy)
                save_policy(self.folder / BEST_POLICY, policy)
            metrics = {"evaluation/return": evaluation.return_mean}
            if success is not None:
                metrics["evaluation/success"] = success
            self.metrics.write({**metrics, "train_seconds": seconds}, self.env_steps)
            self.reporter.say(
                f"{self.env_steps:>9,} steps  {seconds:7.1f} s  evaluation: {_tell(evaluation)}"
            )

    def policy(self) -> Policy:
        """The policy as it is now, its arrays its own."""
        bounds = bounded_box(self.parts.environments.action_space)
        return Policy(
            algorithm=self.settings.algorithm,
            encoder=self.parts.encoder,
            actor=jax.tree.map(np.array, self.state.actor),
            scale=jax.tree.map(np.array, self.scale),
            low=bounds.low,
            high=bounds.high,
        )

    def finish(self, *, interrupted: bool) -> Result:
        """Save all, judge the best policy, write the result."""
        jax.block_until_ready(self.state)
        seconds = self.clock.seconds
        last = self.policy()
        save_policy(self.folder / LAST_POLICY, last)
        if self.best is None and _all_finite(last.actor):
            save_policy(self.folder / BEST_POLICY, last)
        step, solved_seconds = self.solved or (None, None)
        result = Result(
            success_rate=None,
            return_mean=None,
            episodes=0,
            env_steps=self.env_steps,
            updates=self.updates,
            train_seconds=seconds,
            steps_per_second=self.env_steps / seconds,
            solved_at_step=step,
            solved_at_seconds=solved_seconds,
            interrupted=True,
        )
        result.write(self.folder)  # stands if the final evaluation does not come to its end
        if interrupted:
            return result
        best = last if self.best is None else self.best[1]
        final = self.parts.evaluator.run(best, self.settings.final_episodes, first=HELD_OUT)
        result = replace(
            result,
            success_rate=final.success_rate,
            return_mean=final.return_mean,
            episodes=len(final.episodes),
            interrupted=False,
        )
        result.write(self.folder)
        return result


def _all_finite(tree: Any) -> bool:
    return all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(tree))


def _passes(before: int, now: int, every: int) -> bool:
    """Whether a multiple of `every` lies in before < … <= now; 0 has none."""
    return every > 0 and now // every > before // every


def _episode_metrics(episodes: deque[Episode]) -> dict[str, float]:
    if not episodes:
        return {}
    success = [episode.success for episode in episodes]
    return {
        "train/return": float(np.mean([episode.return_sum for episode in episodes])),
        "train/length": float(np.mean([episode.length for episode in episodes])),
        **({} if np.isnan(success).any() else {"train/success": float(np.mean(success))}),
    }


def _mean_losses(losses: list[Mapping[str, jax.Array]]) -> dict[str, float]:
    if not losses:
        return {}
    fetched = jax.device_get(losses)
    return {
        f"learn/{name}": float(np.mean([values[name] for values in fetched])) for name in fetched[0]
    }


def _tell(evaluation: Evaluation) -> str:
    success = evaluation.success_rate
    share = "" if success is None else f"success {success:.0%}  "
    return f"{share}return {evaluation.return_mean:.1f}"
