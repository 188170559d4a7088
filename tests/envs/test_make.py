import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.error import DependencyNotInstalled
from gymnasium.wrappers import PassiveEnvChecker, TimeLimit
from tests.envs.toys import Counting

from woodshed.envs import make, make_environment
from woodshed.errors import WoodshedError

needs_robotics = pytest.mark.skipif(
    find_spec("gymnasium_robotics") is None, reason="gymnasium-robotics is not installed"
)


@pytest.fixture
def register() -> Iterator[Callable[..., None]]:
    """Registers ids, and takes them out of Gymnasium's registry afterwards."""
    known = set(gymnasium.registry)
    yield gymnasium.register
    for added in set(gymnasium.registry) - known:
        del gymnasium.registry[added]


def pretend_missing(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    def find(name: str) -> Any:
        return None if name in modules else find_spec(name)

    monkeypatch.setattr(make, "find_spec", find)


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )


def test_a_function_makes_the_environment() -> None:
    env = Counting()
    assert make_environment(lambda: env) is env
    assert isinstance(make_environment(Counting), Counting)


def test_an_id_is_made_with_its_time_limit_and_without_the_checker() -> None:
    env: Any = make_environment("Pendulum-v1")
    assert env.spec.id == "Pendulum-v1"
    wrappers = []
    while env is not env.unwrapped:
        wrappers.append(type(env))
        env = env.env
    assert TimeLimit in wrappers
    assert PassiveEnvChecker not in wrappers


def test_an_id_of_a_module_imports_that_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, register: Any
) -> None:
    (tmp_path / "my_tasks_for_test_make.py").write_text(
        "import gymnasium\n"
        "gymnasium.register('Mine-v0', 'tests.envs.toys:Counting', max_episode_steps=3)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    env = make_environment("my_tasks_for_test_make:Mine-v0")
    assert env.spec is not None
    assert env.spec.max_episode_steps == 3


def test_an_id_of_a_module_that_is_not_there() -> None:
    with pytest.raises(WoodshedError, match=r"there is no module 'no_such_pkg.tasks'"):
        make_environment("no_such_pkg.tasks:Mine-v0")
    with pytest.raises(WoodshedError, match=r"there is no module 'tests.envs.no_such'"):
        make_environment("tests.envs.no_such:Mine-v0")
    for nothing in ("", ".", ".tasks"):
        with pytest.raises(WoodshedError, match="names no module"):
            make_environment(f"{nothing}:CartPole-v1")


def test_a_module_that_fails_on_import_comes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "faulty_one_for_test_make.py").write_text("import no_such_module_at_all\n")
    (tmp_path / "faulty_two_for_test_make.py").write_text("raise ValueError('of mine')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        make_environment("faulty_one_for_test_make:Mine-v0")
    with pytest.raises(ValueError, match="of mine"):
        make_environment("faulty_two_for_test_make:Mine-v0")


def test_a_failing_function_comes_through_with_its_traceback() -> None:
    def broken() -> gymnasium.Env[Any, Any]:
        raise KeyError("my own mistake")

    with pytest.raises(KeyError, match="my own mistake") as caught:
        make_environment(broken)
    assert caught.traceback[-1].name == "broken"
    assert caught.value.__suppress_context__ is False


@pytest.mark.parametrize("error", [ImportError("mine"), ValueError("mine")])
def test_an_error_of_a_registered_environment_comes_through(
    register: Any, error: Exception
) -> None:
    def broken() -> gymnasium.Env[Any, Any]:
        raise error

    register("Broken-v0", broken)
    with pytest.raises(type(error), match="mine"):
        make_environment("Broken-v0")


@pytest.mark.parametrize("env", [3, None, Counting()])
def test_neither_id_nor_function(env: Any) -> None:
    with pytest.raises(WoodshedError, match="expected a Gymnasium id or a function"):
        make_environment(env)


def test_a_function_that_makes_no_environment() -> None:
    with pytest.raises(WoodshedError, match=r"must return a gymnasium.Env, got dict"):
        make_environment(dict)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "suggested"),
    [
        ("CartPol-v1", "did you mean 'CartPole-v1', 'CartPole-v0'"),
        ("pendulum-v1", "did you mean 'Pendulum-v1'"),
        ("HalfCheetah-v9", "did you mean 'HalfCheetah-v5', 'HalfCheetah-v4'"),
        ("woodshed/PointReech-v0", "did you mean 'woodshed/PointReach-v0'"),
        ("woodshed.envs:woodshed/PointReech-v0", "did you mean 'woodshed/PointReach-v0'"),
    ],
)
def test_an_unknown_id_names_those_like_it(asked: str, suggested: str) -> None:
    with pytest.raises(WoodshedError) as caught:
        make_environment(asked)
    message = str(caught.value)
    assert message.startswith(f"unknown environment '{asked}'; {suggested}")
    assert message.count("-v", message.index("did you mean"), message.index("?")) <= 3


@pytest.mark.parametrize("asked", ["", "two words", "woodshed:b:c", "Qqqqqqq-v0"])
def test_an_id_that_is_like_none(register: Any, asked: str) -> None:
    register("NoVersion", Counting)
    with pytest.raises(WoodshedError, match=f"'{asked}'; no registered id is like it"):
        make_environment(asked)


def test_an_id_without_a_version_is_the_newest() -> None:
    with pytest.warns(UserWarning, match="latest versioned environment"):
        env = make_environment("CartPole")
    assert env.spec is not None
    assert env.spec.id == "CartPole-v1"


@pytest.mark.parametrize(
    ("asked", "module", "install"),
    [
        ("PandaReach-v3", "panda_gym", "pip install panda-gym"),
        ("parking-v0", "highway_env", "pip install highway-env"),
        ("ALE/Pong-v5", "ale_py", "pip install ale-py"),
        ("FetchReach-v4", "gymnasium_robotics", r"pip install 'woodshed\[robotics\]'"),
        ("HandManipulateBlock-v1", "gymnasium_robotics", r"pip install 'woodshed\[robotics\]'"),
        ("PointMaze_UMaze-v3", "gymnasium_robotics", r"pip install 'woodshed\[robotics\]'"),
        ("AntMaze_UMaze-v5", "gymnasium_robotics", r"pip install 'woodshed\[robotics\]'"),
        ("AdroitHandDoor-v1", "gymnasium_robotics", r"pip install 'woodshed\[robotics\]'"),
    ],
)
def test_a_family_whose_package_is_missing(
    asked: str, module: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(gymnasium.registry, asked, raising=False)
    pretend_missing(monkeypatch, module)
    with pytest.raises(WoodshedError, match=f"needs the package {module}, .*: {install}"):
        make_environment(asked)


@pytest.mark.parametrize(
    ("asked", "install"),
    [
        ("HalfCheetah-v5", r"pip install 'gymnasium\[mujoco\]'"),
        ("LunarLander-v3", r"pip install 'gymnasium\[box2d\]'"),
    ],
)
def test_a_family_of_gymnasium_whose_package_is_missing(
    asked: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_there() -> gymnasium.Env[Any, Any]:
        raise DependencyNotInstalled("It is\nnot installed")

    monkeypatch.setattr(gymnasium.registry[asked], "entry_point", not_there)
    with pytest.raises(
        WoodshedError, match=f"'{asked}' cannot be made: It is not installed; .*{install}"
    ) as caught:
        make_environment(asked)
    assert "\n" not in str(caught.value)


def test_a_missing_dependency_of_an_unknown_family(register: Any) -> None:
    def not_there() -> gymnasium.Env[Any, Any]:
        raise DependencyNotInstalled("pip install the-thing")

    register("Other-v0", not_there)
    with pytest.raises(WoodshedError, match="'Other-v0' cannot be made: pip install the-thing"):
        make_environment("Other-v0")


def test_an_old_version_that_is_gone_says_the_newest() -> None:
    with (
        pytest.warns(DeprecationWarning, match="out of date"),
        pytest.raises(WoodshedError, match=r"cannot be made: .*; use 'HalfCheetah-v5'"),
    ):
        make_environment("HalfCheetah-v2")


def test_a_broken_robotics_install_does_not_hide_that_the_id_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(module: str, name: str) -> None:
        raise AssertionError(module)

    monkeypatch.setattr(make, "_import_quietly", broken)
    with pytest.raises(WoodshedError, match="unknown environment 'CartPol-v1'"):
        make_environment("CartPol-v1")


@needs_robotics
def test_robotics_is_loaded_for_its_ids_alone_and_without_a_word() -> None:
    done = run_python(
        "import sys, warnings; warnings.simplefilter('error')\n"
        "from woodshed.envs import make_environment\n"
        "make_environment('woodshed/PointReach-v0'); make_environment('CartPole-v1')\n"
        "assert 'gymnasium_robotics' not in sys.modules\n"
        "print(make_environment('FetchReach-v4').spec.id)\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "FetchReach-v4\n", "")


@needs_robotics
def test_who_asks_for_adroit_reads_the_notice_about_it() -> None:
    done = run_python(
        "from woodshed.envs import make_environment; make_environment('AdroitHandDoor-v1')"
    )
    assert done.returncode == 0
    assert "AdroitHand" in done.stderr


@needs_robotics
def test_an_unknown_robotics_id_names_those_like_it() -> None:
    with pytest.raises(WoodshedError, match="did you mean 'FetchReach-v4'"):
        make_environment("FetchReach-v3")
    with pytest.raises(WoodshedError, match="did you mean 'PointMaze_UMaze-v3'"):
        make_environment("PontMaze_UMaze-v3")
