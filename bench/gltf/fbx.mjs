// Converts every FBX file of a directory to glTF and to .hmesh with `assetc convert`, validates the glTF with the Khronos
// validator, and compares the numbers of triangles.
//
//   cd bench/gltf && npm install && node fbx.mjs ../../target/release/assetc DIR

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import validator from 'gltf-validator';

const [assetc, directory] = process.argv.slice(2);
if (!directory) throw new Error('usage: node fbx.mjs ASSETC DIR');
const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'kiln-fbx-'));

function sources(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) return sources(full);
    // Smaller files are pointers of Git LFS.
    return /\.fbx$/i.test(entry.name) && fs.statSync(full).size > 1024 ? [full] : [];
  }).sort();
}

function convert(source, out, flags) {
  const args = ['convert', source, '--root', path.dirname(source), '-o', out, '--overwrite', '-q', '-j', '1', ...flags];
  const run = spawnSync(assetc, args, { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(run.stderr.trim().split('\n').filter(line => line.startsWith('error')).slice(0, 1).join() || run.signal);
}

const triangles = file => JSON.parse(spawnSync(assetc, ['info', '--json', file], { encoding: 'utf8' }).stdout).files[0].facts.triangles;

let [checked, rejected, failed] = [0, 0, 0];
for (const source of sources(directory)) {
  const name = path.relative(directory, source);
  const hmesh = path.join(temporary, path.basename(source).replace(/\.fbx$/i, '.hmesh'));
  const glb = path.join(temporary, 'out.glb');
  try {
    try {
      convert(source, hmesh, ['--texture-max-size', '4']);
    } catch (error) {
      // A source without triangles, or with damaged images, is not a model in either format.
      rejected++;
      console.log(`rejected ${name}: ${error.message}`);
      continue;
    }
    convert(source, glb, ['--mesh-gltf-textures', 'keep']);
    const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(glb)), { maxIssues: 1000 });
    const errors = report.issues.messages.filter(message => message.severity === 0);
    if (errors.length) throw new Error(`validator: ${errors.length} errors, ${errors[0].code} ${errors[0].pointer}`);
    const [found, expected] = [report.info.totalTriangleCount, triangles(hmesh)];
    if (found !== expected) throw new Error(`${found} triangles instead of ${expected}`);
    checked++;
  } catch (error) {
    failed++;
    console.log(`FAILED ${name}: ${error.message}`);
  }
}
fs.rmSync(temporary, { recursive: true });
console.log(`${checked} FBX files are valid glTF with the triangles of .hmesh, ${rejected} rejected in both formats, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
