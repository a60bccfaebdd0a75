// The declarations for TypeScript name what the modules export.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import * as formats from "../src/index.js";

test("every export has a declaration, and every declaration an export", async () => {
  const declarations = await readFile(new URL("../src/index.d.ts", import.meta.url), "utf8");
  const values = declarations.matchAll(/^export (?:declare )?(?:function|class|const|enum) (\w+)/gm);
  // An overloaded function is declared several times.
  const declared = [...new Set(Array.from(values, ([, name]) => name))].sort();
  assert.deepEqual(declared, Object.keys(formats).sort());
});
