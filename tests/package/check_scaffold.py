"""The generated app, installed as a user installs it, in a fresh environment, and run once.

Run by ``make package``; it builds the wheel, generates an app with the installed command, installs
that beside it from the registry's packages, runs its own tests and its worker on a real store, and
has what deploys it read by the tools that this machine has.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

NAME = "night-shift"
SCOPE = "acme/ana"
POLICY = """
from night_shift.settings import Settings
from symfonic.capabilities.memory import LearningPolicy
import json
print(json.dumps(LearningPolicy.from_settings(Settings()).as_kwargs()))
"""
SCHEDULES = """
from night_shift.settings import Settings
from symfonic.capabilities.memory.worker import Schedule
settings = Settings()
print(Schedule() == Schedule(
    deep=settings.deep_schedule, light=settings.light_schedule, zone=settings.zone))
"""
DEFAULTS = """
from symfonic.capabilities.memory import LearningPolicy
import json
print(json.dumps(LearningPolicy().as_kwargs()))
"""
YAML = """
import sys, yaml
claim, job = yaml.safe_load_all(open(sys.argv[1]))
pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
(container,) = pod["containers"]
assert (claim["kind"], job["kind"]) == ("PersistentVolumeClaim", "CronJob")
assert container["args"] == ["--once"] and pod["securityContext"]["runAsNonRoot"] is True
claims = [v["persistentVolumeClaim"]["claimName"] for v in pod["volumes"] if "emptyDir" not in v]
assert claims == [claim["metadata"]["name"]]
assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
"""
OTHERS: dict[str, tuple[str, object]] = {
    "bool": ("true", True), "int": ("7", 7), "float": ("0.25", 0.25), "str": ("spacy", "spacy"),
}  # fmt: skip
OLD = (
    ("entity_linker_extractor", "entity_linker_extractor_kind", "llm", "llm", "spacy"),
    ("phase_12_action_type_from_tool_calls", "promotion_use_tool_calls_fallback", "1", True, "no"),
    ("phase_12_promote_assistant_content", "promotion_promote_assistant_content", "1", True, "no"),
)


class Place:
    """A directory with an environment of its own, and nothing of ours in its variables."""

    def __init__(self, directory: Path) -> None:
        self.bin = directory / "venv" / "bin"
        self.app = directory / NAME
        self.cleared = {n: v for n, v in os.environ.items() if "SYMFONIC" not in n.upper()}
        self.cleared.pop("PYTHONPATH", None)

    def run(self, *command: str | Path, code: int = 0, **variables: str) -> str:
        """What a command of the environment prints, run in the app's directory."""
        program, *words = [str(part) for part in command]
        done = subprocess.run(
            [str(self.bin / program), *words], env={**self.cleared, **variables}, check=False,
            capture_output=True, text=True, cwd=self.app if self.app.exists() else self.bin,
        )  # fmt: skip
        assert done.returncode == code, (command, done.returncode, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stdout + done.stderr

    def policy(self, **variables: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("python", "-c", POLICY, code=0, **variables))
        return found


def install(place: Place, directory: Path, root: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(directory), str(root)],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    (wheel,) = directory.glob("*.whl")
    venv.create(directory / "venv", with_pip=True)
    place.run("pip", "install", "--quiet", f"{wheel}[worker]", "pyyaml")
    written = json.loads(place.run("symfonic-memory", "init", str(place.app), "--json"))["written"]
    assert all((place.app / path).is_file() for path in written)
    place.run("pip", "install", "--quiet", ".[test]")


def check_settings(place: Place) -> None:
    """Nothing set is the default; every knob arrives, by old names too; the newer name wins."""
    defaults = json.loads(place.run("python", "-c", DEFAULTS))
    assert len(defaults) == 19
    assert place.policy() == defaults
    example = (place.app / ".env.example").read_text(encoding="utf-8")
    shutil.copyfile(place.app / ".env.example", place.app / ".env")
    assert place.policy() == defaults
    stated = dict(re.findall(r"^# (SYMFONIC_(?:DEEP|LIGHT)_SCHEDULE)=(.*)$", example, re.MULTILINE))
    assert len(stated) == 2
    assert place.run("python", "-c", SCHEDULES, code=0, **stated) == "True\n"
    given = {name: OTHERS[type(value).__name__] for name, value in defaults.items()}
    variables = {f"SYMFONIC_{name.upper()}": text for name, (text, _) in given.items()}
    assert place.policy(**variables) == {name: value for name, (_, value) in given.items()}
    for old, new, text, value, newer in OLD:
        older = {f"SYMFONIC_{old.upper()}": text}
        (place.app / ".env").write_text(example, encoding="utf-8")
        assert place.policy(**older) == {**defaults, new: value}
        both = place.policy(**older, **{f"SYMFONIC_{new.upper()}": newer})
        assert both[new] == (False if newer == "no" else newer)
        (place.app / ".env").write_text(
            f"{example}SYMFONIC_{new.upper()}={newer}\n", encoding="utf-8"
        )
        assert place.policy(**older) == both, f"the newer {new} in .env loses"
        assert f"SYMFONIC_{old.upper()}" in example
    (place.app / ".env").unlink()


def check_worker(place: Place) -> None:
    """The worker maintains a real store by what its environment says."""
    turns = [
        {"role": "user", "content": f"Priya Raman will meet Tomas Berg on day {day}.",
         "session": f"s{day}", "timestamp": f"2026-05-{day:02}T09:00:00Z"}
        for day in range(1, 9)
    ]  # fmt: skip
    log = place.app / "turns.jsonl"
    log.write_text("".join(f"{json.dumps(turn)}\n" for turn in turns), encoding="utf-8")
    assert "Error: " in place.run(NAME, "--once", code=21)
    assert not (place.app / "memory.db").exists()
    at = ("--store", "memory.db", "--scope", SCOPE, "--json")
    place.run("symfonic-memory", "ingest", *at, "turns.jsonl")
    said = place.run(NAME, "--once", code=11, SYMFONIC_ENTITY_LINKER_CONFIDENCE_THRESHOLD="2")
    assert "SYMFONIC_ENTITY_LINKER_CONFIDENCE_THRESHOLD" in said
    assert "a number from 0 to 1" in said
    place.run(NAME, "--once", SYMFONIC_ENABLE_ENTITY_LINKER="true", SYMFONIC_LIVENESS_FILE="alive")
    assert (place.app / "alive").is_file()
    stats = json.loads(place.run("symfonic-memory", "stats", *at))
    assert stats["records"]["entity"] == {"active": 2}, stats
    runs = json.loads(place.run("symfonic-memory", "runs", *at))
    rarely = {"SYMFONIC_DEEP_SCHEDULE": "0 0 1 1 *", "SYMFONIC_LIGHT_SCHEDULE": "off"}
    place.run(NAME, "--once", code=0, **rarely)
    assert json.loads(place.run("symfonic-memory", "runs", *at)) == runs
    wrong = place.run(NAME, "--once", code=11, SYMFONIC_DEEP_SCHEDULE="at three")
    assert "SYMFONIC_DEEP_SCHEDULE" in wrong
    assert "at three" in wrong


def check_deployment(place: Place) -> None:
    """The manifest is read as YAML, the unit by systemd where it is installed."""
    place.run("python", "-c", YAML, place.app / "deploy" / "cronjob.yaml")
    unit = place.app / "deploy" / f"{NAME}.service"
    text = unit.read_text(encoding="utf-8")
    text = text.replace(f"/opt/{NAME}/bin/{NAME}", str(place.bin / NAME))
    unit.write_text(text, encoding="utf-8")
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        print("systemd-analyze is not installed: the unit was not verified")
        return
    verified = subprocess.run(
        [analyze, "verify", str(unit)], capture_output=True, text=True, check=False
    )
    ours = [line for line in verified.stderr.splitlines() if NAME in line]
    assert not ours, ours


def main() -> int:
    root = Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        place = Place(directory)
        install(place, directory, root)
        place.run("python", "-m", "pytest", "-q")
        check_settings(place)
        check_worker(place)
        check_deployment(place)
    print("the generated app installs, passes its tests and maintains a store")
    return 0


if __name__ == "__main__":
    sys.exit(main())
