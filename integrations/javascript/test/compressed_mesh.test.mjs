// Decodes a compressed mesh and compares it with the mesh that it was encoded from: node --test integrations/javascript/test/

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { FormatError, checkIndices, decodeMesh, isCompressedMesh, readMesh } from "../src/index.js";

const corpus = new URL("../../../crates/testing/fuzz-targets/corpus/hmesh/", import.meta.url);
const [plain, compressed] = ["waves.hmesh", "waves-compressed.hmesh"].map((name) => Uint8Array.from(readFileSync(new URL(name, corpus))));

/** Rotates the corners of triangles so that the smallest index is first. */
function canonical(indices) {
  const triangles = [];
  for (let i = 0; i < indices.length; i += 3) {
    const [a, b, c] = indices.slice(i, i + 3);
    const least = Math.min(a, b, c);
    triangles.push(a === least ? [a, b, c] : b === least ? [b, c, a] : [c, a, b]);
  }
  return triangles;
}

test("a compressed mesh is the mesh that it was encoded from", () => {
  assert.ok(isCompressedMesh(compressed) && !isCompressedMesh(plain));
  assert.ok(compressed.length < plain.length / 2);
  assert.equal(decodeMesh(compressed).length, plain.length);
  const [mesh, expected] = [readMesh(compressed), readMesh(plain)];
  checkIndices(mesh);
  for (const name of ["indices", "lodIndices", "meshletTriangles"]) {
    assert.ok(mesh[name].length > 0, name);
    assert.deepEqual(canonical(mesh[name]), canonical(expected[name]), name);
    mesh[name] = expected[name] = null;
  }
  assert.deepEqual({ ...mesh }, { ...expected });
});

test("a damaged compressed mesh is rejected with a FormatError, or is another mesh", () => {
  let rejected = 0;
  const attempt = (damaged) => {
    try {
      readMesh(damaged);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      rejected++;
    }
  };
  for (let length = 0; length < compressed.length; length += 13) attempt(compressed.subarray(0, length));
  assert.equal(rejected, Math.ceil(compressed.length / 13));
  for (let at = 0; at < compressed.length; at += 3) {
    const damaged = Uint8Array.from(compressed);
    damaged[at] ^= 1 << at % 8;
    attempt(damaged);
  }
  assert.throws(() => decodeMesh(plain), { code: "version" });
});
