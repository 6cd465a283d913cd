"""A page as Chromium shows it, offline."""

import json
import re
import subprocess
from pathlib import Path

from helpers import programs

OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--v=0",
    "--virtual-time-budget=30000",
]


def find():
    """The browser."""
    return programs.needed("chromium", "chromium-browser", "google-chrome")


def show(page: Path, profile: Path, *options: str, width: int = 1280, height: int = 2000):
    """The document after all scripts ran, and what was written to the console.

    No name is resolved, so whatever the page wants from elsewhere fails; the console does not tell: see `requests`.
    """
    done = subprocess.run(
        [
            find(),
            *OPTIONS,
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
            *(options or ["--dump-dom"]),
            page.absolute().as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, re.findall(r".*CONSOLE.*", done.stderr)


def requests(page: Path, profile: Path) -> set[str]:
    """The addresses that a page asks for, itself aside, by the log of the network; not those of the browser."""
    log = profile / "network.json"
    show(page, profile, "--dump-dom", f"--log-net-log={log}")
    events = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    ours = [event for event in events if str(event.get("network_isolation_key", "")).startswith("file://")]
    return {event["url"] for event in ours if "url" in event} - {page.absolute().as_uri()}
