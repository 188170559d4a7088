import numpy as np
import pytest
from gymnasium import spaces

from woodshed.connectors.leaves import leaf_arrays, leaf_spaces
from woodshed.errors import WoodshedError

ONE, TWO = spaces.Box(0, 1, (1,)), spaces.Discrete(2)


def test_leaves_of_spaces() -> None:
    assert leaf_spaces(ONE) == {"": ONE}
    nested = spaces.Dict({"b": ONE, "a": spaces.Dict({"y": TWO, "x": spaces.Dict({"z": ONE})})})
    assert leaf_spaces(nested) == {"b": ONE, "a/y": TWO, "a/x/z": ONE}


def test_leaves_of_observations_have_the_same_names() -> None:
    array = np.zeros(3)
    assert leaf_arrays(array) == {"": array}
    assert leaf_arrays({"b": 1, "a": {"y": 2, "x": {"z": 3}}}) == {"b": 1, "a/y": 2, "a/x/z": 3}


def test_a_key_with_a_slash_is_fine_until_two_leaves_have_one_name() -> None:
    assert leaf_spaces(spaces.Dict({"walker/height": ONE})) == {"walker/height": ONE}
    with pytest.raises(WoodshedError, match="two parts of the observation are named 'a/b'"):
        leaf_spaces(spaces.Dict({"a/b": ONE, "a": spaces.Dict({"b": ONE})}))
