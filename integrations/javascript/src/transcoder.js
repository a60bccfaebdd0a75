// Transcodes UASTC textures in WebAssembly: the crate `kiln-transcode-c`, unchanged. `build` compiles it.

import { FormatError, bytesOf } from "./bytes.js";

/** The formats to transcode to. */
export const Target = Object.freeze({
  Rgba8: 0, Astc4x4: 1, Bc7: 2, Bc1: 3, Bc3: 4, Bc4: 5, Bc5Rg: 6, Bc5Ra: 7, Etc1: 8, Etc2Rgba: 9, EacR11: 10, EacRg11: 11, EacRa11: 12,
});

const CODES = [
  "ok", "needMoreBytes", "invalidFile", "noSuchLevel", "unsupportedFormat", "invalidZstd", "invalidBlock", "wrongLength",
  "outOfMemory", "invalidArgument",
];
/** The size of `kiln_transcode_level` in bytes. */
const LEVEL = 40;

/** The transcoder: one WebAssembly instance. Calls are synchronous. */
export class Transcoder {
  #wasm;

  constructor(instance) {
    this.#wasm = instance.exports;
  }

  /** Compiles the transcoder from the bytes of `transcoder.wasm`, or from the `Response` of a fetch of it. */
  static async load(source) {
    const isResponse = typeof Response !== "undefined" && source instanceof Response;
    const bytes = isResponse ? await source.arrayBuffer() : bytesOf(source);
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Transcoder(instance);
  }

  /** Calls `use` with the addresses of zeroed buffers of these sizes, and frees them afterwards. */
  #withBuffers(sizes, use) {
    const buffers = [];
    try {
      for (const size of sizes) {
        const at = this.#wasm.kiln_transcode_allocate(size);
        if (at === 0) throw new FormatError("outOfMemory", `the transcoder cannot allocate ${size} bytes`);
        buffers.push([at, size]);
      }
      return use(...buffers.map(([at]) => at));
    } finally {
      buffers.forEach(([at, size]) => this.#wasm.kiln_transcode_free(at, size));
    }
  }

  #memory(at, size) {
    return new Uint8Array(this.#wasm.memory.buffer, at, size);
  }

  #text(at) {
    const bytes = new Uint8Array(this.#wasm.memory.buffer, at);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  }

  #check(status, detail = {}) {
    if (status === 0) return;
    const error = new FormatError(CODES[status] ?? "unknown", this.#text(this.#wasm.kiln_transcode_message(status)));
    throw Object.assign(error, detail);
  }

  #info(at) {
    const view = new DataView(this.#wasm.memory.buffer, at, LEVEL);
    const [width, height, images, vkFormat, levelCount, firstAvailableLevel] = [0, 4, 8, 12, 16, 20].map((o) => view.getUint32(o, true));
    const [outputSize, neededSize] = [24, 32].map((o) => Number(view.getBigUint64(o, true)));
    return { width, height, images, vkFormat, levelCount, firstAvailableLevel, outputSize, neededSize };
  }

  /** Decompresses one Zstandard frame whose content has `contentSize` bytes, as `readPack` needs for compressed packs. */
  decompress(frame, contentSize) {
    const input = bytesOf(frame);
    return this.#withBuffers([input.byteLength || 1, contentSize || 1], (from, to) => {
      this.#memory(from, input.byteLength).set(input);
      this.#check(this.#wasm.kiln_transcode_decompress(from, input.byteLength, to, contentSize));
      return this.#memory(to, contentSize).slice();
    });
  }

  /** Transcodes the UASTC blocks of one image. */
  transcodeImage(blocks, width, height, target) {
    const input = bytesOf(blocks);
    const size = this.#wasm.kiln_transcode_image_size(target, width, height) >>> 0;
    return this.#withBuffers([input.byteLength || 1, size || 1], (from, to) => {
      this.#memory(from, input.byteLength).set(input);
      this.#check(this.#wasm.kiln_transcode_image(from, input.byteLength, width, height, target, to, size));
      return this.#memory(to, size).slice();
    });
  }

  /**
   * Loads a mip level of a KTX2 file; 0 is the largest. `file` may be a prefix of the file: if it is too short, the error
   * has the code `needMoreBytes` and `neededSize`.
   */
  loadLevel(file, level, target) {
    const input = bytesOf(file);
    return this.#withBuffers([input.byteLength || 1, LEVEL], (from, description) => {
      this.#memory(from, input.byteLength).set(input);
      const status = this.#wasm.kiln_transcode_level_info(from, input.byteLength, level, target, description);
      const info = this.#info(description);
      this.#check(status, { neededSize: info.neededSize });
      return this.#withBuffers([info.outputSize || 1], (to) => {
        this.#check(this.#wasm.kiln_transcode_load_level(from, input.byteLength, level, target, to, info.outputSize));
        return { ...info, bytes: this.#memory(to, info.outputSize).slice() };
      });
    });
  }
}
