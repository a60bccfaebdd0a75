#!/usr/bin/env python3
"""A minimal worker of the Remote Workers API: leases actions from a server such as BuildGrid, runs each in a directory of its
own with nothing but its inputs, and uploads the outputs. One action at a time. Uses the Protobuf messages of BuildGrid's
package; no worker can be installed from a package registry.

    worker.py HOST:PORT INSTANCE NAME DIR
"""

import shutil
import subprocess
import sys
import tempfile
import uuid
from hashlib import sha256
from pathlib import Path

import grpc
from buildgrid._protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as re
from buildgrid._protos.build.bazel.remote.execution.v2 import remote_execution_pb2_grpc as re_grpc
from buildgrid._protos.google.bytestream import bytestream_pb2, bytestream_pb2_grpc
from buildgrid._protos.google.devtools.remoteworkers.v1test2 import bots_pb2, bots_pb2_grpc, worker_pb2

BATCH = 1 << 20


class Cas:
    def __init__(self, channel, instance, cache):
        self.instance, self.cache = instance, cache
        self.blobs = re_grpc.ContentAddressableStorageStub(channel)
        self.stream = bytestream_pb2_grpc.ByteStreamStub(channel)
        cache.mkdir(parents=True, exist_ok=True)

    def get(self, digest):
        if digest.size_bytes == 0:
            return b""
        if digest.size_bytes <= BATCH:
            request = re.BatchReadBlobsRequest(instance_name=self.instance, digests=[digest])
            response = self.blobs.BatchReadBlobs(request).responses[0]
            if response.status.code:
                raise RuntimeError(f"blob {digest.hash}: {response.status.message}")
            return response.data
        name = f"{self.instance}/blobs/{digest.hash}/{digest.size_bytes}"
        return b"".join(part.data for part in self.stream.Read(bytestream_pb2.ReadRequest(resource_name=name)))

    def place(self, digest, path, executable):
        """Writes a blob to a file. Programs are kept, because every action has the same."""
        kept = self.cache / digest.hash
        if executable and kept.exists():
            shutil.copyfile(kept, path)
        else:
            content = self.get(digest)
            if sha256(content).hexdigest() != digest.hash:
                raise RuntimeError(f"blob {digest.hash} is damaged")
            path.write_bytes(content)
            if executable:
                kept.write_bytes(content)
        if executable:
            path.chmod(0o755)

    def put(self, content):
        digest = re.Digest(hash=sha256(content).hexdigest(), size_bytes=len(content))
        name = f"{self.instance}/uploads/{uuid.uuid4()}/blobs/{digest.hash}/{digest.size_bytes}"

        def requests():
            for at in range(0, max(len(content), 1), BATCH):
                part, end = content[at : at + BATCH], at + BATCH >= len(content)
                yield bytestream_pb2.WriteRequest(
                    resource_name=name if at == 0 else "", write_offset=at, data=part, finish_write=end
                )

        self.stream.Write(requests())
        return digest

    def materialize(self, digest, place):
        place.mkdir(exist_ok=True)
        directory = re.Directory.FromString(self.get(digest))
        for node in directory.files:
            self.place(node.digest, place / node.name, node.is_executable)
        for node in directory.directories:
            self.materialize(node.digest, place / node.name)


def run(cas, action, place):
    """Runs an action in a directory; returns its result."""
    command = re.Command.FromString(cas.get(action.command_digest))
    cas.materialize(action.input_root_digest, place)
    environment = {variable.name: variable.value for variable in command.environment_variables}
    # The program of a command is relative to its directory.
    program = [str(place / command.arguments[0])] + list(command.arguments[1:])
    ran = subprocess.run(
        program, cwd=place, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=action.timeout.seconds or None
    )
    result = re.ActionResult(exit_code=ran.returncode, stdout_raw=ran.stdout[-4096:], stderr_raw=ran.stderr[-4096:])
    for name in list(command.output_paths) or list(command.output_files):
        if (place / name).is_file():
            result.output_files.add(path=name, digest=cas.put((place / name).read_bytes()))
    return result


def main():
    address, instance, name, place = sys.argv[1:]
    place = Path(place)
    channel = grpc.insecure_channel(address)
    cas, bots = Cas(channel, instance, place / "programs"), bots_pb2_grpc.BotsStub(channel)
    worker = worker_pb2.Worker(devices=[worker_pb2.Device(handle=name)])
    session = bots_pb2.BotSession(bot_id=name, status=bots_pb2.OK, worker=worker)
    session = bots.CreateBotSession(
        bots_pb2.CreateBotSessionRequest(parent=instance, bot_session=session), timeout=10, wait_for_ready=True
    )
    while True:
        for lease in session.leases:
            if lease.state not in (bots_pb2.PENDING, bots_pb2.ACTIVE):
                continue
            if lease.state == bots_pb2.PENDING:
                lease.state = bots_pb2.ACTIVE
                session = update(bots, session)
            action = re.Action()
            lease.payload.Unpack(action)
            with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=place) as directory:
                result = run(cas, action, Path(directory) / "root")
            print(f"{name}: exit code {result.exit_code} {result.stderr_raw.decode(errors='replace')}", flush=True)
            for own in session.leases:
                if own.id == lease.id:
                    own.state = bots_pb2.COMPLETED
                    own.status.code = 0
                    own.result.Pack(result)
            break
        session = update(bots, session)


def update(bots, session):
    request = bots_pb2.UpdateBotSessionRequest(name=session.name, bot_session=session)
    return bots.UpdateBotSession(request, timeout=30)


if __name__ == "__main__":
    main()
