"""Soft actor-critic (Haarnoja et al., 2018, "Soft Actor-Critic Algorithms and Applications")."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from woodshed.algorithms.actor import update_actor
from woodshed.algorithms.critic import update_critic
from woodshed.algorithms.targets import bellman_target, polyak, soft_value
from woodshed.algorithms.temperature import update_temperature
from woodshed.algorithms.transitions import Transitions
from woodshed.errors import WoodshedError
from woodshed.networks import CriticEnsemble, GaussianActor, init_actor, init_critics


class SACState(NamedTuple):
    """All that changes while learning: a tree of arrays, nothing else."""

    actor: GaussianActor
    critic: CriticEnsemble
    target_critic: CriticEnsemble
    log_temperature: jax.Array
    """Scalar."""
    actor_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    temperature_optimiser: optax.OptState
    key: jax.Array
    """`[2]` uint32, always the same: update number n draws from it folded with n."""
    step: jax.Array
    """Updates made so far, int32 scalar."""


@dataclass(frozen=True)
class SAC:
    """Settings of soft actor-critic.

    Raises:
        WoodshedError: for a setting out of range; the message names it.
    """

    name: ClassVar[str] = "sac"

    hidden: tuple[int, ...] = (256, 256)
    """Units of each hidden layer, in actor and critics alike."""
    learning_rate: float = 3e-4
    """Step size of Adam, for actor, critics and temperature."""
    critics: int = 2
    """Number of critics; the least of their values counts."""
    layer_norm: bool = False
    """Whether critics normalise their hidden layers (without learnt scale and shift)."""
    target_rate: float = 0.005
    """Share of the way that the target critics go to the critics at each update."""
    initial_temperature: float = 1.0
    """Weight of the entropy at the start; it is learnt from there."""
    target_entropy: float | None = None
    """Entropy that the policy is held at, in nats; none: minus the number of action dimensions."""

    def __post_init__(self) -> None:
        is_tuple = isinstance(self.hidden, tuple) and len(self.hidden) > 0
        if not is_tuple or not all(_is_count(units) for units in self.hidden):
            raise WoodshedError(
                f"hidden is {self.hidden!r}, expected a tuple with the units of each hidden layer, "
                "such as (256, 256)"
            )
        if not _is_count(self.critics):
            raise WoodshedError(f"critics is {self.critics!r}, expected a whole number above 0")
        for field in ("learning_rate", "initial_temperature"):
            value = getattr(self, field)
            if not (math.isfinite(value) and value > 0):
                raise WoodshedError(f"{field} is {value}, expected a finite number above 0")
        if not 0 < self.target_rate <= 1:
            raise WoodshedError(
                f"target_rate is {self.target_rate}, expected a number above 0 and at most 1"
            )
        if self.target_entropy is not None and not math.isfinite(self.target_entropy):
            raise WoodshedError(
                f"target_entropy is {self.target_entropy}, expected a finite number, or none for "
                "minus the number of action dimensions"
            )

    def init(self, key: jax.Array, observation_size: int, action_size: int) -> SACState:
        """A fresh state.

        Runs on the host and compiles nothing, so that learning starts at once; for the same reason
        it cannot be traced by `jax.jit` or `jax.eval_shape`.

        Args:
            key: as of `jax.random.key`; decides the weights and the noise of all updates
            observation_size: D, numbers in an encoded observation
            action_size: A, numbers in an action

        Raises:
            WoodshedError: for a size below 1.
        """
        if observation_size < 1 or action_size < 1:
            raise WoodshedError(
                f"got an observation of {observation_size} and an action of {action_size} numbers, "
                "expected at least 1 of each"
            )
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        actor = init_actor(rng, observation_size, action_size, self.hidden)
        critic = init_critics(
            rng,
            observation_size,
            action_size,
            self.hidden,
            critics=self.critics,
            layer_norm=self.layer_norm,
        )
        log_temperature = jax.device_put(np.float32(math.log(self.initial_temperature)))
        return SACState(
            actor=actor,
            critic=critic,
            # A copy with memory of its own: the learner gives the state's memory away (donates it).
            target_critic=jax.device_put(critic, may_alias=False),
            log_temperature=log_temperature,
            actor_optimiser=self._init_optimiser(actor),
            critic_optimiser=self._init_optimiser(critic),
            temperature_optimiser=self._init_optimiser(log_temperature),
            key=jax.device_put(rng.integers(2**32, size=2, dtype=np.uint32)),
            step=jax.device_put(np.int32(0)),
        )

    def act(
        self, actor: GaussianActor, observation: jax.Array, key: jax.Array, explore: bool
    ) -> jax.Array:
        """Actions `[B, A]` in [-1, 1] for encoded observations `[B, D]`.

        Args:
            actor: `SACState.actor`
            observation: `[B, D]`
            key: decides the noise; unused without exploring
            explore: draw from the policy, or else take its mode
        """
        policy = actor(observation.T)
        if not explore:
            return policy.mode().T
        action, _ = policy.sample(jax.random.normal(key, policy.mean.shape))
        return action.T

    def update(
        self, state: SACState, batch: Transitions
    ) -> tuple[SACState, dict[str, jax.Array], jax.Array]:
        """One update of critics, actor, temperature and target critics, in this order.

        Returns:
            The new state; the scalars critic_loss, actor_loss, temperature, entropy, q_mean and
            target_mean, all from before the update; the temporal-difference errors `[B]`.
        """
        # In here a batch is a matrix of columns, [features, B]: networks/mlp.py says why.
        observation, next_observation = batch.observation.T, batch.next_observation.T
        action = batch.action.T
        key = jax.random.wrap_key_data(state.key, impl="threefry2x32")
        noise, next_noise = jax.random.normal(
            jax.random.fold_in(key, state.step), (2, *action.shape)
        )
        temperature = jnp.exp(state.log_temperature)

        next_action, next_log_prob = state.actor(next_observation).sample(next_noise)
        next_q = state.target_critic(next_observation, next_action)
        next_value = soft_value(next_q, next_log_prob, temperature)
        target = bellman_target(batch.reward, batch.discount, next_value)

        critic, critic_optimiser, td_error, critic_info = update_critic(
            state.critic,
            self._optimiser,
            state.critic_optimiser,
            observation,
            action,
            target,
            batch.weight,
        )
        actor, actor_optimiser, actor_info = update_actor(
            state.actor,
            self._optimiser,
            state.actor_optimiser,
            critic,
            temperature,
            observation,
            noise,
        )
        log_temperature, temperature_optimiser, temperature_info = update_temperature(
            state.log_temperature,
            self._optimiser,
            state.temperature_optimiser,
            actor_info["entropy"],
            -len(action) if self.target_entropy is None else self.target_entropy,
        )
        updated = SACState(
            actor=actor,
            critic=critic,
            target_critic=polyak(state.target_critic, critic, self.target_rate),
            log_temperature=log_temperature,
            actor_optimiser=actor_optimiser,
            critic_optimiser=critic_optimiser,
            temperature_optimiser=temperature_optimiser,
            key=state.key,
            step=state.step + 1,
        )
        return updated, critic_info | actor_info | temperature_info, td_error

    @property
    def _optimiser(self) -> optax.GradientTransformation:
        # Flattened: a few kernels over one long vector, instead of as many for each array.
        return optax.flatten(optax.adam(self.learning_rate))

    def _init_optimiser(self, weights: object) -> optax.OptState:
        # Adam starts from zeros, so the shapes say all, and nothing need be compiled.
        shapes = jax.eval_shape(self._optimiser.init, weights)
        return jax.tree.map(lambda leaf: jax.device_put(np.zeros(leaf.shape, leaf.dtype)), shapes)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 1
