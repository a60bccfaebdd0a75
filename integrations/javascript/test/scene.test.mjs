// Reads a scene file and evaluates its channels: node --test integrations/javascript/test/

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { FormatError, readScene, sampleChannel } from "../src/index.js";

const corpus = new URL("../../../crates/testing/fuzz-targets/corpus/hscn/", import.meta.url);
const bytes = readFileSync(new URL("stage.hscn", corpus));

test("a scene has the nodes, cameras, lights and clips of its source", () => {
  const scene = readScene(bytes);
  assert.deepEqual([scene.name, JSON.parse(scene.documentExtras)], ["Main", "all"]);
  assert.deepEqual(scene.nodes.map((node) => node.name), ["copies", "arm", "face", "lamp", "eye", "not drawn"]);
  assert.deepEqual(scene.nodes.map((node) => node.parent), [-1, -1, 1, 1, -1, -1]);
  assert.deepEqual(scene.nodes.map((node) => node.isDrawn), [true, true, true, true, true, false]);
  assert.deepEqual(Array.from(scene.nodes[0].weights), [0.25, 0.5]);
  assert.deepEqual(Array.from(scene.nodes[2].weights), [0.5, 0.75]);
  assert.equal(scene.nodes[0].instances.length, 2);
  assert.equal(scene.nodes[3].matrix[4], 0.5);
  assert.deepEqual(scene.cameras.map((camera) => camera.kind), ["perspective", "orthographic"]);
  assert.deepEqual([scene.lights[1].kind, scene.lights[1].range], ["spot", 8]);
  const [wave] = scene.clips;
  assert.deepEqual([wave.name, wave.duration, wave.channels.length], ["wave", 2, 4]);
  const weights = wave.channels.find((channel) => channel.path === "weights");
  assert.deepEqual(sampleChannel(weights, 0.25), [0.5, 0.5]);
  assert.deepEqual(sampleChannel(weights, 9), [0.5, 0.5]);
  const turn = wave.channels.find((channel) => channel.path === "rotation");
  assert.ok(Math.abs(Math.hypot(...sampleChannel(turn, 1.1)) - 1) < 1e-6);
});

test("damaged scenes are rejected with a FormatError", () => {
  let rejected = 0;
  const attempt = (damaged) => {
    try {
      readScene(damaged);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      rejected++;
    }
  };
  for (let length = 0; length < bytes.length; length += 7) attempt(Uint8Array.from(bytes.subarray(0, length)));
  for (let bit = 0; bit < bytes.length * 8; bit += 3) {
    const damaged = Uint8Array.from(bytes);
    damaged[bit >> 3] ^= 1 << bit % 8;
    attempt(damaged);
  }
  assert.ok(rejected > 500, `${rejected}`);
});
