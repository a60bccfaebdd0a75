// Exports every glTF of a directory with `assetc convert`, validates the results with the Khronos validator, reads them
// with glTF-Transform, and compares triangles and poses with the source. With --rivals, also sizes, CPU time and errors
// beside gltfpack and glTF-Transform.
//
//   cd bench/gltf && npm install && node run.mjs ../../target/release/assetc DIR [--rivals] [--keep-textures] [-- FLAGS of assetc convert]
//
// --keep-textures leaves out the variant with KTX2 textures, whose encoding takes most of the time.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { NodeIO } from '@gltf-transform/core';
import { ALL_EXTENSIONS } from '@gltf-transform/extensions';
import draco3d from 'draco3dgltf';
import { MeshoptDecoder } from 'meshoptimizer';
import validator from 'gltf-validator';
import { compare, extent, times, triangles } from './pose.mjs';

const [assetc, directory, ...rest] = process.argv.slice(2);
const separator = rest.includes('--') ? rest.indexOf('--') : rest.length;
const [flags, passed] = [rest.slice(0, separator), rest.slice(separator + 1)];
if (!directory) throw new Error('usage: node run.mjs ASSETC DIR [--rivals]');
const rivals = flags.includes('--rivals');
const bin = path.join(import.meta.dirname, 'node_modules', '.bin');
const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'kiln-gltf-'));

await MeshoptDecoder.ready;
const io = () => new NodeIO().registerExtensions(ALL_EXTENSIONS).setVertexLayout('separate');
const decoder = await draco3d.createDecoderModule();
const read = file => io().registerDependencies({ 'meshopt.decoder': MeshoptDecoder, 'draco3d.decoder': decoder }).read(file);

/** Runs a command; returns its CPU seconds, or throws with its messages. */
function timed(command, args) {
  const script = 'TIMEFORMAT="cpu %U %S"; time "$0" "$@"';
  const run = spawnSync('bash', ['-c', script, command, ...args], { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(run.stderr.trim().split('\n').slice(0, 3).join(' | '));
  const [, user, system] = run.stderr.match(/cpu ([\d.]+) ([\d.]+)/);
  return Number(user) + Number(system);
}

async function validate(file) {
  const folder = path.dirname(file);
  const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)), {
    uri: path.basename(file),
    maxIssues: 1000,
    externalResourceFunction: uri => Promise.resolve(new Uint8Array(fs.readFileSync(path.join(folder, decodeURIComponent(uri))))),
  });
  return report.issues.messages.filter(message => message.severity === 0);
}

/** Compares a result with its source at rest and in five poses of each animation. Returns the largest error relative to
 *  the extent, and the number of triangles without a pair. */
async function difference(source, result, tolerance) {
  const b = await read(result);
  // glTF-Transform does not read every extension of the sources; the result is validated and read in any case.
  const a = await read(source).catch(() => b);
  let [worst, lost, count] = [0, 0, 0];
  const check = (m, n, time) => {
    const [p, q] = [triangles(a, m, time), triangles(b, n, time)];
    const size = extent(p) || 1;
    const found = compare(p, q, size * tolerance);
    count = Math.max(count, p.length);
    worst = Math.max(worst, found.worst / size);
    lost = Math.max(lost, found.lost, Math.abs(p.length - q.length));
  };
  check(undefined, undefined, 0);
  const [from, to] = [a.getRoot().listAnimations(), b.getRoot().listAnimations()];
  if (from.length !== to.length) lost = Math.max(lost, 1);
  from.forEach((animation, i) => to[i] && times(animation).forEach(time => check(animation, to[i], time)));
  return { worst, lost, count };
}

function sources(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const full = path.join(folder, entry.name);
    if (fs.statSync(full).isDirectory()) return sources(full);
    return /\.(gltf|glb)$/.test(entry.name) ? [full] : [];
  }).sort();
}

/** Returns the size of a source with all files that it refers to. */
function sizeOf(file) {
  let size = fs.statSync(file).size;
  if (file.endsWith('.gltf')) {
    const json = JSON.parse(fs.readFileSync(file, 'utf8'));
    for (const { uri } of [...json.buffers ?? [], ...json.images ?? []]) {
      if (uri && !uri.startsWith('data:')) size += fs.statSync(path.join(path.dirname(file), decodeURIComponent(uri))).size;
    }
  }
  return size;
}

const variants = [
  ['default', []],
  ['keep', ['--mesh-gltf-textures', 'keep']],
  ['plain', ['--mesh-gltf-textures', 'keep', '--mesh-gltf-compress', 'none']],
  ['exact', ['--mesh-gltf-textures', 'keep', '--mesh-gltf-compress', 'none', '--mesh-gltf-quantize', 'false']],
  ['lods', ['--mesh-gltf-textures', 'keep', '--mesh-gltf-lods', 'true']],
];
// A joint weight is rounded to 1/255 at most, which moves a skinned vertex by a part of the distance of its joints.
const tolerance = { default: 0.004, keep: 0.004, plain: 0.004, exact: 1e-5, lods: 0.004 };

if (flags.includes('--keep-textures')) variants.shift();
let [checked, failed] = [0, 0];
const rows = [];
for (const source of sources(directory)) {
  const name = path.relative(directory, source);
  const errorsOfSource = new Set((await validate(source)).map(message => message.code));
  const row = { name, source: sizeOf(source) };
  for (const [variant, settings] of variants) {
    const out = path.join(temporary, `${variant}.glb`);
    try {
      row[variant] = { cpu: timed(assetc, ['convert', source, '--root', path.dirname(source), '-o', out, '--overwrite', '-q', '-j', '1', ...settings, ...passed]) };
      row[variant].size = fs.statSync(out).size;
      const errors = (await validate(out)).filter(message => !errorsOfSource.has(message.code));
      if (errors.length) throw new Error(`validator: ${errors.length} errors, ${errors[0].code} ${errors[0].pointer} ${errors[0].message}`);
      Object.assign(row[variant], await difference(source, out, tolerance[variant]));
      if (row[variant].lost) throw new Error(`${row[variant].lost} of ${row[variant].count} triangles differ`);
      checked++;
    } catch (error) {
      failed++;
      console.log(`FAILED ${name} ${variant}: ${error.message}`);
    }
  }
  if (rivals) {
    const packed = path.join(temporary, 'rival.glb');
    const commands = {
      gltfpack: [path.join(bin, 'gltfpack'), ['-i', source, '-o', packed, '-cc', '-kn', '-km', '-ke', '-kv', '-vp', '16', '-vt', '16', '-vn', '8', '-at', '16', '-ar', '16', '-as', '16']],
      transform: [path.join(bin, 'gltf-transform'), ['optimize', source, packed, '--compress', 'meshopt', '--texture-compress', 'false', '--simplify', 'false', '--instance', 'false', '--join', 'false', '--flatten', 'false', '--palette', 'false']],
    };
    for (const [rival, [command, args]] of Object.entries(commands)) {
      try {
        row[rival] = { cpu: timed(command, args) };
        row[rival].size = fs.statSync(packed).size;
        Object.assign(row[rival], await difference(source, packed, 0.004));
      } catch (error) {
        row[rival] = { cpu: NaN, size: NaN, worst: NaN, lost: NaN, error: error.message };
      }
    }
  }
  rows.push(row);
  console.error(`${rows.length} ${name}`);
}
fs.rmSync(temporary, { recursive: true });

const columns = rivals ? ['keep', 'gltfpack', 'transform'] : ['default', 'keep', 'exact'].filter(column => variants.some(([name]) => name === column));
const cell = value => value ? `${value.size} B, ${value.cpu?.toFixed(2)} s, ${value.worst?.toExponential(1)}${value.lost ? `, ${value.lost} lost` : ''}` : 'failed';
console.log(`| model | source | ${columns.join(' | ')} |\n|---|---:|${columns.map(() => '---:').join('|')}|`);
for (const row of rows) console.log(`| ${row.name} | ${row.source} B | ${columns.map(column => cell(row[column])).join(' | ')} |`);
for (const column of columns) {
  const all = rows.filter(row => columns.every(other => Number.isFinite(row[other]?.size)));
  const sum = pick => all.reduce((total, row) => total + pick(row[column]), 0);
  const lost = all.filter(row => row[column].lost).length;
  console.log(`${column}: ${all.length} models, ${sum(r => r.size)} B, ${sum(r => r.cpu).toFixed(1)} s of CPU, largest error ${Math.max(...all.map(row => row[column].worst)).toExponential(2)} of the extent, ${lost} models with other triangles`);
}
console.log(`${checked} exports of ${rows.length} files are valid and equal to their source, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
