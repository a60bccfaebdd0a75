"""Tests `unity-assetdb mcp` with the MCP client of the Python SDK, and prints latencies.

    python -m venv venv && venv/bin/pip install mcp
    venv/bin/python crates/unity-assetdb/tests/clients/mcp_client.py target/debug/unity-assetdb PROJECT [CALLS]

Without PROJECT a small one is made and the answers are compared; with one, only latencies are printed. The test
`mcp_answers_a_real_client` runs this script if the SDK is installed (UNITY_ASSETDB_MCP_PYTHON names the interpreter).
"""

import asyncio
import json
import pathlib
import statistics
import sys
import tempfile
import time

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

FLAG, POLE, MISSING = "8f57b4a070f7b43bbb3925467e670001", "8f57b4a070f7b43bbb3925467e670002", "8f57b4a070f7b43bbb3925467e670099"


def make_project(root):
    def write(path, text):
        path = root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("ProjectSettings/ProjectVersion.txt", "m_EditorVersion: 6000.0.0f1\n")
    write("Assets/Flag.png", "")
    write("Assets/Flag.png.meta", "guid: %s\nTextureImporter:\n  spriteMode: 1\n  textureType: 8\n" % FLAG)
    body = "%%YAML 1.1\n--- !u!1 &100\nGameObject:\n  m_Name: Pole\n--- !u!212 &101\nSpriteRenderer:\n  m_Sprite: {fileID: 21300000, guid: %s, type: 3}\n  m_Other: {fileID: 1, guid: %s, type: 2}\n"
    write("Assets/Pole.prefab", body % (FLAG, MISSING))
    write("Assets/Pole.prefab.meta", "guid: %s\nPrefabImporter:\n" % POLE)


async def call(session, tool, **arguments):
    result = await session.call_tool(tool, arguments)
    is_error = getattr(result, "is_error", getattr(result, "isError", False))
    text = result.content[0].text
    return text if is_error else json.loads(text)


async def compare(session, root):
    tools = {tool.name for tool in (await session.list_tools()).tools}
    reads = {"resolve", "find", "list", "uses", "deps", "why", "unused", "broken", "check", "review"}
    assert tools == reads, tools
    row = {"guid": FLAG, "fileID": "21300000", "name": "Flag", "type": "Sprite", "path": "Assets/Flag.png"}
    assert (await call(session, "resolve", asset=FLAG, fileID="21300000"))["rows"] == [row]
    uses = await call(session, "uses", asset="Flag")
    assert uses["rows"][0]["path"] == "Assets/Pole.prefab" and uses["rows"][0]["line"] == 7, uses
    assert (await call(session, "broken"))["rows"][0]["guid"] == MISSING
    first = await call(session, "list", limit=1)
    assert (first["total"], first["nextOffset"], len(first["rows"])) == (2, 1, 1), first
    rest = await call(session, "list", limit=1, offset=1)
    assert rest["nextOffset"] is None and rest["rows"] != first["rows"], rest
    # The index is refreshed at each call.
    (root / "Assets/New.txt").write_text("")
    (root / "Assets/New.txt.meta").write_text("guid: 8f57b4a070f7b43bbb3925467e670003\n")
    assert (await call(session, "find", pattern="New"))["total"] == 1
    assert "unity-git" in await call(session, "review", range="main..HEAD")
    assert (await call(session, "why", asset="Flag"))["rows"] == []


async def latencies(session, calls):
    found = await call(session, "find", pattern="*", limit=1000)
    names = [row["guid"] for row in found["rows"]]
    for tool in ("resolve", "uses", "deps"):
        times = []
        for n in range(calls):
            start = time.perf_counter()
            await call(session, tool, asset=names[n * 7919 % len(names)])
            times.append(time.perf_counter() - start)
        times.sort()
        p99 = times[min(len(times) - 1, int(len(times) * 0.99))]
        print("%s: p50 %.1f ms, p99 %.1f ms (%d calls)" % (tool, statistics.median(times) * 1e3, p99 * 1e3, calls))


async def run(executable, project, calls):
    parameters = StdioServerParameters(command=executable, args=["mcp", "--project", str(project)])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        info = await session.initialize()
        server = getattr(info, "server_info", None) or info.serverInfo
        assert server.name == "unity-assetdb", info
        if calls is None:
            await compare(session, project)
            calls = 20
        await latencies(session, calls)


def main():
    executable = sys.argv[1]
    if len(sys.argv) > 2:
        asyncio.run(run(executable, pathlib.Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 100))
        return
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        make_project(root)
        asyncio.run(run(executable, root, None))


main()
