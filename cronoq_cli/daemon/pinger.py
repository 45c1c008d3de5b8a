"""`python -m cronoq_cli.daemon.pinger`: asks for the URLs on its stdin, one a line, all at once, and says what failed.

A process of its own: name servers and monitoring services that hang hold up nothing. Standard library only.
"""

from __future__ import annotations

import http.client
import os
import sys
import threading
import time
import urllib.error
import urllib.request

LIMIT_S = 10.0
"""For one try; whoever started this process ends it when two tries must be over."""
TRIES = 2
NICE = 5
AGENT = "cronoq"


def main() -> int:
    """Ask for every URL; 1 when any could not be told."""
    os.nice(NICE)
    opener = make_opener()
    answers: dict[str, str | None] = {line.strip(): "no answer in time" for line in sys.stdin if line.strip()}
    threads = [threading.Thread(target=_work, args=(opener, url, answers), daemon=True) for url in answers]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + LIMIT_S * TRIES
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    failed = {url: problem for url, problem in answers.items() if problem is not None}
    sys.stdout.write("".join(f"{url}: {problem}\n" for url, problem in failed.items()))
    return 1 if failed else 0


def _work(opener: urllib.request.OpenerDirector, url: str, answers: dict[str, str | None]) -> None:
    answers[url] = ping(opener, url)


def make_opener() -> urllib.request.OpenerDirector:
    """What follows redirects and the proxies of the environment, to http and https only."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    opener.addheaders = [("User-Agent", AGENT)]
    return opener


def ping(opener: urllib.request.OpenerDirector, url: str) -> str | None:
    """Ask for one URL, a second time when the first fails; what went wrong, or None."""
    problem: str | None = None
    for _ in range(TRIES):
        try:
            with opener.open(url, timeout=LIMIT_S) as answer:
                answer.read(1)
            return None
        except urllib.error.HTTPError as error:
            problem = f"HTTP {error.code} {error.reason}"
            error.close()
        except urllib.error.URLError as error:
            problem = str(error.reason)
        except (OSError, http.client.HTTPException, ValueError) as error:
            problem = str(error) or type(error).__name__
    return problem


if __name__ == "__main__":
    sys.exit(main())
