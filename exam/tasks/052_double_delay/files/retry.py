"""Calls that may fail for a moment."""

import logging
import time

log = logging.getLogger(__name__)


class GaveUp(Exception):
    """The last attempt failed, too."""


def retry(call, attempts=3, delay=0.5):
    """Return what `call` returns, after up to `attempts` attempts."""
    for attempt in range(1, attempts + 1):
        try:
            return call()
        except OSError as error:
            log.warning("attempt %d of %d: %s", attempt, attempts, error)
            if attempt == attempts:
                raise GaveUp(str(error)) from error
            time.sleep(delay)


def retry_all(calls, attempts=3):
    """Retry each call in its turn."""
    return [retry(call, attempts) for call in calls]
