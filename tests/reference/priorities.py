"""Priorities by definition: a dict from handle to priority."""

from collections.abc import Iterable

from tests.reference.replay import ReferenceReplay


class ReferencePriorities:
    """The priority of every stored transition of a log; call `follow` after each write to it."""

    def __init__(
        self, replay: ReferenceReplay, alpha: float, beta: float, beta_end: float, beta_steps: int
    ) -> None:
        self.replay = replay
        self.alpha = alpha
        self.beta_start, self.beta_end, self.beta_steps = beta, beta_end, beta_steps
        self.priority: dict[int, float] = {}
        self.largest = 1.0
        self.stale = 0

    def follow(self) -> None:
        """New transitions get the largest priority ever given; overwritten ones are gone."""
        stored = self.replay.by_handle()
        self.priority = {handle: self.priority.get(handle, self.largest) for handle in stored}

    def update(self, handles: Iterable[int], priorities: Iterable[float]) -> int:
        """Give priorities, one after another; how many had no transition any more."""
        dropped = 0
        for handle, priority in zip(handles, priorities, strict=True):
            self.largest = max(self.largest, priority)
            if handle in self.priority:
                self.priority[handle] = priority
            else:
                dropped += 1
        self.stale += dropped
        return dropped

    def chances(self) -> dict[int, float]:
        """Probability of each transition that can be drawn at all."""
        powers = {handle: p**self.alpha for handle, p in self.priority.items() if p > 0}
        total = sum(powers.values())
        return {handle: power / total for handle, power in powers.items()}

    def beta(self) -> float:
        """In a straight line over the transitions written, then constant."""
        written = sum(len(e.rows) - 1 for lane in self.replay.lanes for e in lane)
        share = min(1.0, written / self.beta_steps)
        return self.beta_start * (1 - share) + self.beta_end * share

    def weights(self, handles: Iterable[int]) -> list[float]:
        """Importance weights of a batch of these rows."""
        chances, beta, count = self.chances(), self.beta(), len(self.replay)
        weights = [(count * chances[handle]) ** -beta for handle in handles]
        largest = max(weights)
        return [weight / largest for weight in weights]
