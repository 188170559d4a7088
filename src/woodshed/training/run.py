"""A run under way: the loop, and what changes while it goes on."""

from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from woodshed.envs import EnvironmentFailedError, Failure, bounded_box
from woodshed.errors import WoodshedError
from woodshed.files import writing_to
from woodshed.runners import Episode
from woodshed.training.checkpoint import Checkpoint
from woodshed.training.clock import Clock
from woodshed.training.compile_ahead import compile_ahead
from woodshed.training.compiled import compiled_act, compiled_update, in_updates
from woodshed.training.evaluation import Evaluation, EvaluationStoppedError
from woodshed.training.interrupt import StopRequest
from woodshed.training.metrics import MetricsWriter
from woodshed.training.parts import Parts
from woodshed.training.policy import Policy, save_policy
from woodshed.training.progress import Progress, passes
from woodshed.training.reporter import Reporter
from woodshed.training.result import SOLVED
from woodshed.training.run_folder import BEST_POLICY, FAILURE_LOG
from woodshed.training.run_metrics import episode_metrics, mean_losses
from woodshed.training.settings import Settings
from woodshed.training.snapshot import go_on_from, write_checkpoint
from woodshed.training.updates import exact_ratio

RECENT_EPISODES = 100
"""Training episodes that the reported return and success are means of."""


class DivergedError(WoodshedError):
    """Numbers of the training are no longer finite."""


class Run:
    """A run under way: its parts, and what changes while it goes on."""

    def __init__(
        self,
        settings: Settings[Any],
        parts: Parts,
        folder: Path,
        metrics: MetricsWriter,
        reporter: Reporter,
        clock: Clock,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        """Begin, or go on from a checkpoint that the parts were made from."""
        self.settings, self.parts, self.folder = settings, parts, folder
        self.metrics, self.reporter, self.clock = metrics, reporter, clock
        self.update = compiled_update(settings.algorithm, parts.encoder)
        self.act = compiled_act(settings.algorithm, parts.encoder)
        self.action_shape = bounded_box(parts.environments.action_space).shape
        self.state = parts.state
        self.compiling = compile_ahead(settings, parts, self.scale)
        self.ratio = exact_ratio(settings.updates_per_step)
        self.progress = Progress()
        self.recent: deque[Episode] = deque(maxlen=RECENT_EPISODES)
        self.losses: list[Mapping[str, Any]] = []
        self.best: tuple[Evaluation, Policy] | None = None
        self.sent: NDArray[np.float32] | None = None
        """The action of a step that was not taken in yet."""
        self.episodes: list[int] = parts.environments.episodes.tolist()
        self.last_checkpoint: Path | None = None
        self.checkpoint_error: WoodshedError | None = None
        if checkpoint is not None:
            go_on_from(self, checkpoint)

    def loop(self, stop: StopRequest) -> None:
        """Step and learn until the last step, or until asked to stop."""
        progress = self.progress
        try:
            self._step_until_done(stop)
        except DivergedError:
            raise  # nobody wants to go on from there
        except Exception as error:
            self._keep_what_there_is(error)
            raise
        self.learn(self.sample_owed())
        if progress.env_steps > progress.reported_steps:
            self.report()
        if self.settings.evaluate_every and progress.updates and not stop.asked:
            self.evaluate(stop)  # after the last updates, so that they can be the best

    def _step_until_done(self, stop: StopRequest) -> None:
        settings, progress = self.settings, self.progress
        while True:
            self.see_to_what_is_due(stop)
            if self.is_done or stop.asked:
                break
            self.send()
            before = progress.env_steps
            self.receive()
            # Before all that may be due at this step, so that a resumed run does it too.
            if self.is_done or passes(before, progress.env_steps, settings.checkpoint_every):
                self.checkpoint()
        if not self.is_done:
            self.checkpoint()

    def _keep_what_there_is(self, error: Exception) -> None:
        """Log and save before an error ends the run."""
        with suppress(Exception):  # that error is the one to tell
            if isinstance(error, EnvironmentFailedError):
                for failure in error.failures:
                    self.note(failure)
            if self.progress.env_steps:
                self.checkpoint()

    @property
    def is_done(self) -> bool:
        """Whether all steps are made."""
        return self.progress.env_steps >= self.settings.steps

    def see_to_what_is_due(self, stop: StopRequest) -> None:
        """Report and evaluate where a multiple of their intervals was passed."""
        settings, progress = self.settings, self.progress
        now = progress.env_steps
        if passes(progress.reports_seen_to, now, settings.log_every):
            self.report()
        progress.reports_seen_to = now
        due = passes(progress.evaluations_seen_to, now, settings.evaluate_every)
        if due and progress.updates and not self.is_done and not self.evaluate(stop):
            return  # given up: a resumed run makes it
        progress.evaluations_seen_to = now

    def choose_action(self) -> NDArray[np.float32]:
        """`[L, …]` in [-1, 1]: uniform before learning starts, then the policy's."""
        runner, progress = self.parts.runner, self.progress
        if progress.attempts < self.settings.learning_starts:
            return runner.random_action()
        self.compiling.result()
        action = self.act(
            self.state.actor,
            self.scale,
            runner.observation,
            self.parts.key,
            progress.attempts,
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

    def send(self) -> None:
        """Act, and begin the updates that are due; they run while the environments step."""
        if self.sent is None:
            # Sampling goes before acting, which waits for the updates that are still running.
            batches = self.sample_owed()
            self.sent = self.choose_action()
            self.parts.runner.send(self.sent)
            self.learn(batches)
        else:  # that a run which failed in this step has chosen, and learnt, already
            self.parts.runner.send(self.sent)

    def receive(self) -> None:
        """Wait for the environments' step, and take it in."""
        step, ended = self.parts.runner.receive()
        self.sent = None
        if self.parts.normaliser is not None:
            self.parts.normaliser.observe(step.observation)
        self.progress.env_steps += int(step.stepped.sum())
        self.progress.attempts += len(step.stepped)
        self.episodes = self.parts.environments.episodes.tolist()
        self.recent.extend(ended)
        for failure in step.failures:
            self.note(failure)
        self.reporter.advance(self.progress.env_steps)

    def note(self, failure: Failure, where: str = "") -> None:
        """Count, log and tell that environments failed."""
        self.progress.failures += 1
        head = f"{where}{failure.of_whom} failed: {failure.summary}"
        time = datetime.now().isoformat(timespec="seconds")
        with (
            writing_to(self.folder / FAILURE_LOG, "write to"),
            (self.folder / FAILURE_LOG).open("a") as log,
        ):
            log.write(f"{time}  step {self.progress.env_steps}  {head}\n{failure.report}\n\n")
        self.reporter.say(f"{head}; see {FAILURE_LOG}")

    def note_in_evaluation(self, failure: Failure) -> None:
        """The same, of the environments of evaluations."""
        self.note(failure, "in the evaluation, ")

    def sample_owed(self) -> Any:
        """Batches `[K, B, …]` for the K updates that are due; None where none is."""
        settings = self.settings
        owed = self.progress.owed(self.ratio, settings.learning_starts)
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
        self.progress.updates += len(batches.reward)

    def report(self) -> None:
        """Write and tell the numbers since the last report.

        Raises:
            WoodshedError: when the losses are no longer finite.
        """
        progress, seconds = self.progress, self.clock.seconds
        span = max(seconds - progress.reported_seconds, 1e-9)
        metrics = {
            "updates": progress.updates,
            "failures": progress.failures,
            "train_seconds": seconds,
            "steps_per_second": (progress.env_steps - progress.reported_steps) / span,
            "updates_per_second": (progress.updates - progress.reported_updates) / span,
            **episode_metrics(self.recent),
            **mean_losses(self.losses),
        }
        self.losses.clear()
        progress.reported_steps, progress.reported_updates = progress.env_steps, progress.updates
        progress.reported_seconds = seconds
        self.metrics.write(metrics, progress.env_steps)
        self.reporter.metrics(progress.env_steps, metrics)
        broken = [name for name, value in metrics.items() if not np.isfinite(value)]
        if broken:
            raise self.divergence(broken)

    def divergence(self, broken: list[str]) -> "DivergedError":
        """The error that numbers which are no longer finite call for."""
        saved = "" if self.best is None else f". The best policy so far is in {self.folder}"
        return DivergedError(
            f"training diverged: {', '.join(broken)} is not finite at step "
            f"{self.progress.env_steps:,}; lower the learning rate, or check the scale of the "
            f"rewards{saved}"
        )

    def evaluate(self, stop: StopRequest) -> bool:
        """Evaluate the policy as it is, and keep it where it is the best one.

        Returns:
            Whether it came to its end; asked to stop, it does not.
        """
        jax.block_until_ready(self.state)
        progress, seconds = self.progress, self.clock.seconds
        with self.clock.paused():
            policy = self.policy()
            try:
                evaluation = self.parts.evaluator.run(
                    policy,
                    self.settings.evaluate_episodes,
                    stop=lambda: stop.asked,
                    on_failure=self.note_in_evaluation,
                )
            except EvaluationStoppedError:
                return False
            success = evaluation.success_rate
            if progress.solved_at_step is None and success is not None and success >= SOLVED:
                progress.solved_at_step, progress.solved_at_seconds = progress.env_steps, seconds
            if self.best is None or evaluation.score >= self.best[0].score:
                self.best = (evaluation, policy)
                save_policy(self.folder / BEST_POLICY, policy)
            metrics = {"evaluation/return": evaluation.return_mean}
            if success is not None:
                metrics["evaluation/success"] = success
            self.metrics.write({**metrics, "train_seconds": seconds}, progress.env_steps)
            self.reporter.say(
                f"{progress.env_steps:>9,} steps  {seconds:7.1f} s  evaluation: {_tell(evaluation)}"
            )
        return True

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

    def checkpoint(self) -> None:
        """Write a checkpoint; where the disk refuses, say so and go on: the last one stays."""
        if self.settings.keep_checkpoints == 0:
            return
        try:
            self.last_checkpoint = write_checkpoint(self)
            self.checkpoint_error = None
        except WoodshedError as error:
            kept = self.last_checkpoint
            last = "there is no checkpoint" if kept is None else f"{kept} is the last one"
            at = f"no checkpoint was written at step {self.progress.env_steps:,}"
            self.checkpoint_error = WoodshedError(f"{at}: {error}; {last}")
            self.reporter.say(str(self.checkpoint_error))


def _tell(evaluation: Evaluation) -> str:
    success = evaluation.success_rate
    share = "" if success is None else f"success {success:.0%}  "
    return f"{share}return {evaluation.return_mean:.1f}"
