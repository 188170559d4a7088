import os
import signal
import threading

import pytest

from woodshed.training.interrupt import stop_on_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_asks_once_and_interrupts_the_second_time(number: int) -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    with stop_on_signals() as request:
        assert not request.asked
        os.kill(os.getpid(), number)
        assert request.asked
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def test_handlers_come_back_after_an_error() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError), stop_on_signals():
        raise RuntimeError
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_take_no_signals() -> None:
    found = []

    def run() -> None:
        before = signal.getsignal(signal.SIGINT)
        with stop_on_signals() as request:
            found.append((request.asked, signal.getsignal(signal.SIGINT) is before))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [(False, True)]
