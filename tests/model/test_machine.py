"""The same State and oracle, driven by Hypothesis: it finds less and shrinks well."""

from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from .generate import STEPS, Sequence, Step

# A Random that Hypothesis draws for, and so can shrink.
RANDOMS = st.randoms(use_true_random=False)


class StateMachine(RuleBasedStateMachine):
    """A State beside its oracle; each rule is one command."""

    sequence: Sequence

    @initialize(random=RANDOMS)
    def start(self, random: Random) -> None:
        self.sequence = Sequence(random)

    @rule(step=st.sampled_from(STEPS), random=RANDOMS)
    def do(self, step: Step, random: Random) -> None:
        self.sequence.draw_from(random)
        self.sequence.do(step)

    @rule(random=RANDOMS)
    def do_what_is_likely(self, random: Random) -> None:
        self.sequence.draw_from(random)
        self.sequence.step()

    def teardown(self) -> None:
        if hasattr(self, "sequence"):
            self.sequence.check()


TestStateMachine = StateMachine.TestCase
TestStateMachine.settings = settings(max_examples=30, stateful_step_count=15)
