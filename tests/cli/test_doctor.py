"""The doctor names everything, and never falls ill itself."""

from palestra.cli import doctor


def test_everything_is_looked_at():
    found = doctor.report()
    names = [finding.name for finding in found]
    for name in (
        "python",
        "cores",
        "memory",
        "disk for the cache",
        "chromium",
        "OSMesa",
        "PostgreSQL",
        "CJK fonts",
        "GPU",
    ):
        assert name in names
    assert {"sandbox: bubblewrap", "sandbox: landlock", "sandbox: rlimits", *doctor.LIBRARIES} <= set(names)


def test_a_machine_where_one_program_can_starve_another_is_told_how_to_change_that():
    lacking = doctor._fairness(["memory", "pids"])
    assert not lacking.ok and lacking.found == "no control group with cpu and freezer"
    assert "Delegate=" in lacking.advice and "root" in lacking.advice
    assert doctor._fairness(["cpu", "freezer"]).ok


def test_what_a_contest_may_need_is_told_with_what_it_is_for():
    rows = {row["what"]: row["for"] for row in doctor.as_rows(doctor.report())}
    assert "several server processes" in rows["PostgreSQL"]
    assert "browser" in rows["chromium"]
    assert "--executor ray" in rows["ray"]
    assert "S3" in rows["obstore"]


def test_what_is_missing_comes_with_advice():
    for finding in doctor.report():
        assert finding.found and (finding.ok or finding.advice), finding


def test_a_look_that_fails_is_a_finding(monkeypatch):
    def fails():
        raise RuntimeError("no such luck")

    monkeypatch.setattr(doctor, "LOOKS", {"luck": fails})
    (finding,) = doctor.report()
    assert not finding.ok and finding.name == "luck" and "no such luck" in finding.found


def test_a_machine_with_nothing_is_told_what_to_install(monkeypatch):
    from palestra.sandbox import backends

    monkeypatch.setenv("PATH", "/nowhere")
    backends.probe.cache_clear()
    try:
        rows = {row["what"]: row for row in doctor.as_rows(doctor.report())}
    finally:
        backends.probe.cache_clear()
    assert rows["sandbox: bubblewrap"][""] == "no"
    assert "apt-get install -y bubblewrap" in rows["sandbox: bubblewrap"]["to get it"]
    assert "apt-get install -y chromium" in rows["chromium"]["to get it"]


def test_a_library_that_is_missing_is_told_with_how_to_get_it(monkeypatch):
    monkeypatch.setattr(doctor, "LIBRARIES", {"no-such-library": ("pip install it", "nothing")})
    (finding,) = doctor._libraries()
    assert (finding.ok, finding.advice, finding.purpose) == (False, "pip install it", "nothing")
