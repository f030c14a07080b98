from __future__ import annotations

import ast
import configparser
import re
import tomllib
from pathlib import Path

import pytest

from symfonic.capabilities.memory.errors import InputError, PolicyError
from symfonic.capabilities.memory.policy import RANGES, LearningPolicy
from symfonic.capabilities.memory.settings import environment_name, near_misses, resolve
from symfonic.capabilities.memory.worker import scaffolding
from symfonic.capabilities.memory.worker.scaffolding import (
    FILES,
    app_name,
    package_name,
    rendered,
    write_app,
)

NAME = "night-shift"
APP = rendered(NAME)
_VARIABLE = re.compile(r"^(?:# )?(SYMFONIC_\w+)=(.*)$", re.MULTILINE)


def contents(directory: Path) -> dict[str, str]:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return {
        path.relative_to(directory).as_posix(): path.read_text(encoding="utf-8") for path in files
    }


def test_every_template_is_used_and_no_word_in_braces_is_left() -> None:
    folder = Path(scaffolding.__file__).with_name("scaffold")
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES.values())
    assert not [path for path, text in APP.items() if "{{" in path + text or "}}" in path + text]
    assert all(text.endswith("\n") and not text.endswith("\n\n") for text in APP.values())


def test_python_of_the_app_compiles_and_imports_its_own_package() -> None:
    for path in (path for path in APP if path.endswith(".py")):
        compile(APP[path], path, "exec")
    assert "from night_shift.settings import load_settings" in APP["src/night_shift/worker.py"]


def test_app_names_no_knob_but_in_its_list() -> None:
    for path, text in APP.items():
        if path != ".env.example" and not path.startswith("tests/"):
            assert not [name for name in RANGES if name in text.lower()], path


def test_worker_contains_wiring_only() -> None:
    tree = ast.parse(APP["src/night_shift/worker.py"])
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert "LearningPolicy.from_settings(settings)" in APP["src/night_shift/worker.py"]


def test_project_needs_this_package_with_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads(APP["pyproject.toml"])["project"]
    ours, settings = project["dependencies"]
    assert re.fullmatch(r"symfonic-memory\[worker\]>=\d+\.\d+\.\d+\S*", ours)
    assert settings.startswith("pydantic-settings>=")
    assert project["scripts"] == {NAME: "night_shift.worker:main"}
    monkeypatch.setattr(scaffolding, "_DISTRIBUTION", "symfonic-not-installed")
    unbound = tomllib.loads(rendered(NAME)["pyproject.toml"])["project"]["dependencies"]
    assert unbound[0] == "symfonic-not-installed[worker]"


def test_example_lists_every_knob_with_default_range_and_meaning() -> None:
    blocks = APP[".env.example"].split("\n\n")
    for name, default in LearningPolicy().as_kwargs().items():
        (block,) = [part for part in blocks if f"# {environment_name(name)}=" in part]
        meaning, stated, *_, variable = block.strip().splitlines()
        assert re.fullmatch(r"# [A-Z].{20,}\.", meaning)
        shown = str(default).lower() if isinstance(default, bool) else str(default)
        assert stated.startswith(f"# Default {shown}. ")
        assert stated.endswith(f": {RANGES[name]}.")
        assert variable == f"# {environment_name(name)}={shown}"


def test_example_taken_as_it_is_or_with_every_line_set_gives_the_defaults() -> None:
    lines = APP[".env.example"].splitlines()
    assert all(line.startswith("#") or not line for line in lines)
    stated = dict(_VARIABLE.findall(APP[".env.example"]))
    assert resolve(file=None, environ=stated, sets=()).policy == LearningPolicy()
    assert {environment_name(name) for name in RANGES} <= stated.keys()


def test_example_names_the_older_names_and_none_as_a_variable() -> None:
    text = APP[".env.example"]
    for old in (
        "SYMFONIC_ENTITY_LINKER_EXTRACTOR",
        "SYMFONIC_PHASE_12_ACTION_TYPE_FROM_TOOL_CALLS",
        "SYMFONIC_PHASE_12_PROMOTE_ASSISTANT_CONTENT",
    ):
        assert f"# Older name, read where the newer is not given: {old}." in text
        assert f"{old}=" not in text


def test_variables_of_the_app_are_fields_of_its_settings_and_no_misspelt_knobs() -> None:
    tree = ast.parse(APP["src/night_shift/settings.py"])
    (app,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    fields = {node.target.id for node in app.body
              if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}  # fmt: skip
    named = dict(_VARIABLE.findall(APP[".env.example"])).keys() - set(map(environment_name, RANGES))
    assert named == set(map(environment_name, fields))
    assert near_misses(named) == ()


def test_values_of_the_example_stand_without_quotes() -> None:
    assert not [value for _, value in _VARIABLE.findall(APP[".env.example"]) if value[:1] in "\"'"]


def test_unit_is_hardened_reads_its_file_and_does_not_restart_for_a_wrong_setting() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(APP["deploy/night-shift.service"])
    service = unit["Service"]
    assert service["ExecStart"] == "/opt/night-shift/bin/night-shift"
    assert service["EnvironmentFile"] == "-/etc/night-shift/env"
    assert service["RestartPreventExitStatus"] == str(PolicyError.exit_code)
    assert (service["User"], service["KillSignal"]) == (NAME, "SIGTERM")
    for name in ("NoNewPrivileges", "PrivateDevices", "ProtectHome", "RestrictNamespaces"):
        assert service[name] == "yes"
    assert (service["ProtectSystem"], service["CapabilityBoundingSet"]) == ("strict", "")


def test_image_runs_as_a_user_of_its_own_and_tells_its_health_by_the_liveness_file() -> None:
    text = APP["Dockerfile"].replace("\\\n", " ")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if not line.startswith("#")]
    words = [step for step in steps if step]
    last = [
        word for word, _ in words[max(i for i, step in enumerate(words) if step[0] == "FROM") :]
    ]
    assert last.index("USER") < last.index("HEALTHCHECK") < last.index("ENTRYPOINT")
    assert dict(words)["USER"] == "10001:10001"
    assert "$SYMFONIC_LIVENESS_FILE" in dict(words)["HEALTHCHECK"].replace('\\"', "")
    assert all("slim" in rest for word, rest in words if word == "FROM")


def test_manifest_has_one_claim_and_a_job_that_runs_once() -> None:
    claim, job = APP["deploy/cronjob.yaml"].split("\n---\n")
    assert "kind: PersistentVolumeClaim\n" in claim
    assert "kind: CronJob\n" in job
    for line in (
        'args: ["--once"]', "concurrencyPolicy: Forbid", "runAsNonRoot: true",
        "readOnlyRootFilesystem: true", "claimName: night-shift", 'drop: ["ALL"]',
    ):  # fmt: skip
        assert line in job
    indents = [len(line) - len(line.lstrip()) for line in (claim + "\n" + job).splitlines()]
    assert not [indent for indent in indents if indent % 2]
    assert "\t" not in claim + job


def test_app_is_written_whole_and_again_changes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "new" / NAME
    done = write_app(place, NAME)
    assert contents(place) == APP
    assert (done.written, done.replaced, done.unchanged) == (tuple(APP), (), ())
    with pytest.raises(InputError, match="would replace nothing"):
        write_app(place, NAME)
    again = write_app(place, NAME, force=True)
    assert (again.written, again.replaced, again.unchanged) == ((), (), tuple(APP))


def test_empty_directory_is_taken(tmp_path: Path) -> None:
    assert write_app(tmp_path, NAME).written == tuple(APP)


def test_directory_that_holds_anything_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM mine\n", encoding="utf-8")
    (tmp_path / ".env").write_text("SECRET=1\n", encoding="utf-8")
    before = contents(tmp_path)
    with pytest.raises(InputError, match="would replace Dockerfile") as caught:
        write_app(tmp_path, NAME)
    assert caught.value.facts["differing"] == ["Dockerfile"]
    assert contents(tmp_path) == before


def test_force_names_what_it_replaces_and_leaves_what_the_app_does_not_have(
    tmp_path: Path,
) -> None:
    (tmp_path / "Dockerfile").write_bytes(b"\xff\xfe mine")
    (tmp_path / ".gitignore").write_text(APP[".gitignore"], encoding="utf-8")
    (tmp_path / ".env").write_text("SECRET=1\n", encoding="utf-8")
    done = write_app(tmp_path, NAME, force=True)
    assert (done.replaced, done.unchanged) == (("Dockerfile",), (".gitignore",))
    assert len(done.written) == len(APP) - 2
    assert contents(tmp_path) == {**APP, ".env": "SECRET=1\n"}


def test_force_replaces_a_link_and_not_what_it_leads_to(tmp_path: Path) -> None:
    mine, place = tmp_path / "mine", tmp_path / NAME
    mine.write_text("mine\n", encoding="utf-8")
    place.mkdir()
    (place / "Dockerfile").symlink_to(mine)
    assert write_app(place, NAME, force=True).replaced == ("Dockerfile",)
    assert mine.read_text(encoding="utf-8") == "mine\n"
    assert contents(place) == APP


@pytest.mark.parametrize("obstacle", ["Dockerfile/", "src", "."])
def test_place_that_cannot_hold_the_app_is_refused_before_anything_is_written(
    obstacle: str, tmp_path: Path
) -> None:
    place = tmp_path / NAME
    if obstacle == ".":
        place.write_text("a file\n", encoding="utf-8")
    elif obstacle.endswith("/"):
        (place / obstacle).mkdir(parents=True)
    else:
        place.mkdir()
        (place / obstacle).write_text("a file\n", encoding="utf-8")
    before = contents(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        write_app(place, NAME, force=True)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("folder", "name"),
    [("night-shift", NAME), ("Night Shift", NAME), ("--night__shift!", NAME), ("b2b", "b2b")],
)
def test_name_is_made_from_the_directory(folder: str, name: str, tmp_path: Path) -> None:
    assert app_name(tmp_path / folder) == name
    assert package_name(name) == name.replace("-", "_")


def test_name_of_the_current_directory_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / NAME).mkdir()
    monkeypatch.chdir(tmp_path / NAME)
    assert app_name(Path()) == NAME


@pytest.mark.parametrize(
    "stated",
    ["", "Night", "night_shift", "night--shift", "-night", "night-", "2nights", "n" * 32,
     "class", "logging", "symfonic", "symfonic-memory", "pydantic-settings", "tests", "nächte",
     "a/b", "a b", "night\n"],
)  # fmt: skip
def test_name_that_something_refuses_is_refused(stated: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--name") as caught:
        app_name(tmp_path, stated)
    assert caught.value.facts == {"name": stated}


def test_directory_without_a_usable_name_asks_for_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--name"):
        app_name(tmp_path / "日記")
    assert app_name(tmp_path / "日記", "n" * 31) == "n" * 31


def test_disk_that_is_full_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(scaffolding, "_write", full)
    with pytest.raises(InputError, match=r": No space left on device\. Name another directory"):
        write_app(tmp_path / "app", NAME, force=False)
