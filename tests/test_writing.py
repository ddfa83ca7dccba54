"""Files and folders that a stop at any moment leaves in order."""

import gc
from pathlib import Path

import pytest

from discreet.writing import TemporaryFolder


def test_a_stop_right_after_a_folder_was_made_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    make = Path.mkdir

    def make_and_stop(path: Path, mode: int = 0o777) -> None:
        make(path, mode=mode)
        (path / "spilled").write_text("cells", "utf-8")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", make_and_stop)
        with pytest.raises(KeyboardInterrupt):
            TemporaryFolder()
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_temporary_folder_is_for_its_owner_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = TemporaryFolder()
    assert Path(folder.name).stat().st_mode & 0o777 == 0o700
    folder.cleanup()
    assert list(tmp_path.iterdir()) == []
