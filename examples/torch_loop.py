"""Woodshed's replay in a PyTorch loop of your own: DDPG with hindsight on a small goal task.

    pip install torch                      # the one thing that Woodshed itself does not need
    python examples/torch_loop.py          # about half a minute on two cores

The loop is plain PyTorch; the replay is all it takes from Woodshed. What to look at: `add` gets
the true final observation, hindsight asks the task's own reward function, and the target is
`reward + discount * Q(next)` with no `done` flag, however many steps a window has.
"""

import argparse
import copy
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import nn

import woodshed.envs  # noqa: F401 - registers woodshed/PointReach-v0
from woodshed.replay import Batch, Hindsight, ReplayBuffer

TASK = "woodshed/PointReach-v0"
EPISODES_PER_TEST = 20


class Network(nn.Module):
    """Two hidden layers."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs)
        )

    def forward(self, *parts: torch.Tensor) -> torch.Tensor:
        """`[B, inputs]` in parts to `[B, outputs]`."""
        result: torch.Tensor = self.layers(torch.cat(parts, dim=-1))
        return result


class Learner:
    """Actor, critic, their slow copies, and the one update of DDPG (Lillicrap et al. 2016)."""

    def __init__(self, observation_size: int, action_size: int) -> None:
        self.actor = Network(observation_size, action_size)
        self.critic = Network(observation_size + action_size, 1)
        self.targets = copy.deepcopy(nn.ModuleList([self.actor, self.critic]))
        self.actor_optimiser = torch.optim.Adam(self.actor.parameters(), 1e-3)
        self.critic_optimiser = torch.optim.Adam(self.critic.parameters(), 1e-3)

    @torch.no_grad()
    def act(self, observation: dict[str, Any]) -> np.ndarray[Any, Any]:
        """Actions `[A]` in [-1, 1] for one observation."""
        action: np.ndarray[Any, Any] = torch.tanh(self.actor(see(observation))).numpy()
        return action

    def update(self, batch: Batch) -> None:
        """One gradient step of critic and actor, and a small one of their targets."""
        observation, following = see(batch.observation), see(batch.next_observation)
        action = torch.as_tensor(batch.action)
        with torch.no_grad():
            target_actor, target_critic = self.targets
            next_value = target_critic(following, torch.tanh(target_actor(following)))[:, 0]
            # 0 where the window terminated, gamma^steps elsewhere: nothing else to get wrong.
            target = torch.as_tensor(batch.reward) + torch.as_tensor(batch.discount) * next_value
        critic_loss = (self.critic(observation, action)[:, 0] - target).square().mean()
        self.critic_optimiser.zero_grad()
        critic_loss.backward()
        self.critic_optimiser.step()

        chosen = torch.tanh(self.actor(observation))
        actor_loss = -self.critic(observation, chosen).mean() + 1e-2 * chosen.square().mean()
        self.actor_optimiser.zero_grad()
        actor_loss.backward()
        self.actor_optimiser.step()

        fresh = [*self.actor.parameters(), *self.critic.parameters()]
        with torch.no_grad():
            for slow, new in zip(self.targets.parameters(), fresh, strict=True):
                slow.lerp_(new, 0.02)


def see(observation: Any) -> torch.Tensor:
    """What the networks see: the state and the goal."""
    parts = (observation["observation"], observation["desired_goal"])
    return torch.cat([torch.as_tensor(part) for part in parts], dim=-1)


def success_rate(env: gymnasium.Env[Any, Any], learner: Learner) -> float:
    """Share of episodes that end at the goal, on seeds of their own."""
    reached = []
    for episode in range(EPISODES_PER_TEST):
        observation, _ = env.reset(seed=10_000 + episode)
        over, info = False, dict[str, Any]()
        while not over:
            observation, _, terminated, truncated, info = env.step(learner.act(observation))
            over = terminated or truncated
        reached.append(bool(info["is_success"]))
    return float(np.mean(reached))


def train(steps: int, seed: int) -> float:
    """Train, and tell the success rate at the end."""
    torch.set_num_threads(1)  # the networks are too small for more to help
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    env, test_env = gymnasium.make(TASK), gymnasium.make(TASK)
    task: Any = env.unwrapped
    buffer = ReplayBuffer(
        env.observation_space,
        env.action_space,
        capacity=100_000,
        gamma=0.95,
        hindsight=Hindsight("future", k=4, compute_reward=task.compute_reward),
        seed=seed,
    )
    learner = Learner(4, 2)
    observation, _ = env.reset(seed=seed)
    for step in range(1, steps + 1):
        noise = rng.normal(0, 0.2, 2)
        random = rng.random() < (1.0 if step <= 500 else 0.1)
        action = rng.uniform(-1, 1, 2) if random else learner.act(observation) + noise
        action = np.clip(action, -1, 1).astype(np.float32)
        following, reward, terminated, truncated, _ = env.step(action)
        buffer.add(  # of one environment: every array has a leading axis of 1
            observation=lead(observation),
            action=action[None],
            reward=[reward],
            terminated=[terminated],
            truncated=[truncated],
            next_observation=lead(following),
        )
        observation = env.reset()[0] if terminated or truncated else following
        if step > 500:
            learner.update(buffer.sample(128))
        if step % 1000 == 0:
            print(f"{step:>6,} steps  success {success_rate(test_env, learner):.0%}", flush=True)
    return success_rate(test_env, learner)


def lead(observation: dict[str, Any]) -> dict[str, Any]:
    """An observation as that of one environment of one."""
    return {key: np.asarray(value)[None] for key, value in observation.items()}


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"success {train(arguments.steps, arguments.seed):.0%}")


if __name__ == "__main__":
    main()
