"""The files around the code: workflows, metadata, and what a hosting site reads."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

from tensor_array_grad import _version

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

pytestmark = pytest.mark.skipif(
    not (ROOT / ".github").is_dir(), reason="the tests lie outside a checkout"
)


def parsed(path: pathlib.Path):
    """The content of a YAML file."""
    yaml = pytest.importorskip("yaml")  # comes with pre-commit, of the extra [lint]
    return yaml.safe_load(path.read_text())


def steps(workflow) -> list[dict]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_there_are_workflows_for_tests_and_for_releases():
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "release.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_and_pins_what_it_uses(path):
    workflow = parsed(path)
    assert workflow["permissions"] == {"contents": "read"}
    forbidden = r"secrets\.|GITHUB_TOKEN|pull_request_target|-latest"
    assert not re.search(forbidden, path.read_text())
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        assert job["timeout-minutes"] <= 180
    for step in steps(workflow):
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_scripts_that_a_workflow_runs_exist(path):
    runs = "\n".join(step.get("run", "") for step in steps(parsed(path)))
    scripts = re.findall(r"^(?:\.ci|tools)/\S+", runs, re.MULTILINE)
    assert scripts == [{"ci.yml": ".ci/run", "release.yml": "tools/build_wheel.sh"}[path.name]]
    for script in scripts:
        assert (ROOT / script).stat().st_mode & 0o111, f"{script} cannot be executed"
    for named in re.findall(r"python/\S+\.py", runs):
        assert (ROOT / named).is_file()


def test_the_release_workflow_has_every_python_that_the_wheel_serves():
    (setup,) = (s for s in steps(parsed(WORKFLOWS[1])) if "setup-python" in s.get("uses", ""))
    script = (ROOT / "tools" / "build_wheel.sh").read_text()
    wanted = set(re.findall(r"python(3\.\d+)", re.search(r"pythons=\((.*)\)", script)[1]))
    assert set(setup["with"]["python-version"].split()) == wanted


def test_the_tag_of_a_release_is_compared_with_the_version():
    runs = [step.get("run", "") for step in steps(parsed(WORKFLOWS[1]))]
    (pattern,) = (re.search(r'grep -qxF "(.*)" (\S+)', run) for run in runs if "grep -qxF" in run)
    expected = pattern[1].replace('\\"', '"').replace("${GITHUB_REF_NAME#v}", _version.__version__)
    assert expected in (ROOT / pattern[2]).read_text().splitlines()


def test_the_citation_has_the_fields_that_the_format_requires():
    citation = parsed(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert (citation["version"], citation["license"]) == (_version.__version__, "Apache-2.0")


def test_the_issue_template_asks_for_the_status_and_the_log():
    (template,) = (ROOT / ".github" / "ISSUE_TEMPLATE").iterdir()
    text = template.read_text()
    assert re.match(r"---\nname: .+\nabout: .+\n---\n", text)
    assert "`python -m tensor_array_grad`" in text
    assert "`TENSOR_ARRAY_GRAD_LOG=1 python -m tensor_array_grad program.py`" in text


def test_the_notebook_is_json_with_the_fields_of_its_format():
    notebook = json.loads((ROOT / "examples" / "quick_start.ipynb").read_text())
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    names = [cell["id"] for cell in notebook["cells"]]
    assert len(set(names)) == len(names)
