"""The page in a real browser: it renders without a network and sorts on a click."""

import re
import shutil
import subprocess

import pytest

from aiter_compat.checker.matrix_html import as_html

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOST = {
    "a.py": "from aiter.ops.flydsl.moe_common import GateMode",
    "b.py": "from aiter import ActivationType\nx = ActivationType.Situv2\ny = ActivationType.Situv2",
}


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
@pytest.mark.parametrize(
    ("clicks", "order"),
    [
        ([], ["Situv2", "GateMode"]),
        ([0, 0], ["GateMode", "Situv2"]),
        ([1], ["GateMode", "Situv2"]),
        ([1, 1], ["Situv2", "GateMode"]),
        ([3], ["GateMode", "Situv2"]),
    ],
)
def test_sorting(matrix_of, tmp_path, clicks, order):
    page = as_html(matrix_of(HOST, "0.1.13", "0.1.14"))
    clicking = "".join(f'document.querySelectorAll("thead th")[{column}].click();' for column in clicks)
    (tmp_path / "page.html").write_text(
        page.replace("</body>", f"<script>{clicking}</script></body>"), encoding="utf-8"
    )
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    shown = subprocess.run(
        [*command, "--dump-dom", (tmp_path / "page.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    assert [name.rpartition(".")[2] for name in re.findall(r'scope="row" data-key="([^"]+)"', shown)] == order
    heads = shown.partition("<thead>")[2].partition("</thead>")[0]
    assert heads.count("aria-sort=") == bool(clicks)
