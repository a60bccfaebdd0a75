/** Bytes of a file: an `ArrayBuffer` or a view of one. Nothing is copied unless it has to be aligned. */
export type Bytes = ArrayBuffer | ArrayBufferView;

/** The stable code of a `FormatError`. */
export type FormatErrorCode =
  | "truncated" | "magic" | "version" | "value" | "order" | "path" | "missing" | "trailing"
  | "needMoreBytes" | "invalidFile" | "noSuchLevel" | "unsupportedFormat" | "invalidZstd" | "invalidBlock"
  | "wrongLength" | "compressed" | "outOfMemory" | "invalidArgument" | "unknown";

/** The error of a file that is damaged or of another format. */
export class FormatError extends Error {
  readonly code: FormatErrorCode;
  /** With `needMoreBytes`: the bytes from the start of the file that hold the mip level. */
  readonly neededSize?: number;
}

export type PackKind = "other" | "mesh" | "material" | "manifest" | "animation" | "texture" | "shader" | "font";

/** A file in a pack. */
export interface PackEntry {
  path: string;
  kind: PackKind;
  /** Offset from the start of the pack in bytes. */
  offset: number;
  /** Length of the payload in bytes. */
  size: number;
  /** Length of the file in bytes: greater than `size` if the payload is a Zstandard frame. */
  contentSize: number;
}

/** Decompresses a Zstandard frame whose content has `contentSize` bytes. */
export type Decompress = (frame: Uint8Array, contentSize: number) => Bytes;

/** Returns the content of a payload; throws if it is compressed and `decompress` is missing, or if it is damaged. */
export function unpackPayload(entry: PackEntry, payload: Uint8Array, decompress?: Decompress): Uint8Array;

/** A pack in memory. */
export class Pack {
  constructor(data: Bytes, options?: { decompress?: Decompress });
  /** The files, sorted by the bytes of their paths. */
  readonly entries: PackEntry[];
  has(path: string): boolean;
  /** Returns the bytes of a file, without a copy if it is not compressed; throws if there is no such file. */
  read(path: string): Uint8Array;
}

/** Reads a pack. Throws a `FormatError` if it is not one. */
export function readPack(data: Bytes, options?: { decompress?: Decompress }): Pack;

/** Returns the number of bytes from the start of a pack that hold its table of contents; needs its first 24 bytes. */
export function packDirectorySize(prefix: Bytes): number;

/** Reads the table of contents from a prefix of a pack of `fileSize` bytes: for range requests. */
export function readPackDirectory(prefix: Bytes, fileSize: number): PackEntry[];

/** A row of a manifest. */
export interface ManifestEntry {
  hash: bigint;
  kind: "texture" | "mesh" | "material" | "lut" | "shader" | "embed" | "animation" | "font";
  isSrgb: boolean;
  path: string;
}

export interface Manifest {
  entries: ManifestEntry[];
  /** Returns the first entry with a hash. */
  find(hash: bigint): ManifestEntry | undefined;
}

/** Reads a manifest, `assets.hman`. */
export function readManifest(data: Bytes): Manifest;

/** Returns the hash of an asset reference, the key of the manifest. */
export function hashReference(reference: string): bigint;

export interface MeshBounds {
  min: number[];
  max: number[];
  center: number[];
  radius: number;
}

/** A range of `lodIndices`; without indices the LOD before it is drawn. */
export interface Lod {
  firstIndex: number;
  indexCount: number;
}

export interface Submesh {
  firstIndex: number;
  indexCount: number;
  firstMeshlet: number;
  meshletCount: number;
  /** The row of `materials` and of the `.hmat`. */
  material: number | null;
  bounds: MeshBounds;
  /** Simplified LODs, finest first. */
  lods: Lod[];
}

export interface Joint {
  /** Inverse bind matrix, column-major. */
  inverseBind: number[];
  translation: number[];
  /** Quaternion x, y, z, w. */
  rotation: number[];
  scale: number[];
  /** The parent joint, or -1. */
  parent: number;
}

export interface Mesh {
  vertexCount: number;
  indexCount: number;
  indexWidth: 2 | 4;
  meshletCount: number;
  materialCount: number;
  lodCount: number;
  hasTangents: boolean;
  bounds: MeshBounds;
  submeshes: Submesh[];
  joints: Joint[];
  /** Vertices with a stride of 28 bytes: the vertex buffer. */
  vertexData: Uint8Array;
  indices: Uint16Array | Uint32Array;
  lodIndices: Uint32Array;
  /** The hash of the reference of each material. */
  materials: BigUint64Array;
  /** Rows of four: first vertex, vertices, first triangle, triangles. */
  meshlets: Uint32Array;
  meshletVertices: Uint32Array;
  meshletTriangles: Uint8Array;
  /** Rows of eight: centre, radius, cone axis, cone cutoff. */
  meshletBounds: Float32Array;
  /** Rows of 24 bytes: four joints (u16) and four weights (f32); null if the mesh is not skinned. */
  skinData: Uint8Array | null;
}

/** Reads a mesh. Its arrays are views of `data`. */
export function readMesh(data: Bytes): Mesh;

/** Returns whether a file is a compressed mesh, `.hmesh` version 3, by its header. */
export function isCompressedMesh(data: Bytes): boolean;

/** Decodes a compressed mesh to a file of version 2. `readMesh` does this by itself. */
export function decodeMesh(data: Bytes): Uint8Array;

/** Throws unless every index of the mesh is in range: for files from untrusted sources. */
export function checkIndices(mesh: Mesh): void;

export interface VertexAttributes {
  positions: Float32Array;
  normals: Float32Array;
  /** Four numbers for each vertex, the last one the handedness; null if the mesh has none. */
  tangents: Float32Array | null;
  uvs: Float32Array;
}

/** Unpacks the vertices to one array for each attribute. */
export function unpackVertices(mesh: Mesh): VertexAttributes;

/** The name and the `extras` (JSON, or an empty string) of an object. */
export interface SceneLabels {
  name: string;
  extras: string;
}

export interface SceneTransform {
  translation: number[];
  /** Quaternion x, y, z, w. */
  rotation: number[];
  scale: number[];
}

/** Indices are -1 where there is no such object. */
export interface SceneNode extends SceneLabels {
  /** The parent node, which comes before this one. */
  parent: number;
  mesh: number;
  skin: number;
  camera: number;
  light: number;
  isDrawn: boolean;
  firstSubmesh: number;
  submeshCount: number;
  instances: SceneTransform[];
  /** Morph target weights: those of the node, or of its mesh. */
  weights: Float32Array;
  /** The column-major matrix that `transform` approximates. */
  matrix: number[] | null;
  transform: SceneTransform;
}

export interface SceneChannel {
  node: number;
  path: "translation" | "rotation" | "scale" | "weights";
  interpolation: "step" | "linear" | "cubic spline";
  components: number;
  times: Float32Array;
  /** `components` numbers for each key; with a cubic spline the in-tangent, the value and the out-tangent. */
  values: Float32Array;
}

export interface SceneClip extends SceneLabels {
  duration: number;
  channels: SceneChannel[];
}

export interface Scene extends SceneLabels {
  documentExtras: string;
  nodes: SceneNode[];
  meshes: (SceneLabels & { weights: Float32Array })[];
  skins: (SceneLabels & { joints: { node: number; inverseBind: number[] }[] })[];
  cameras: (SceneLabels & { kind: "perspective" | "orthographic"; x: number; y: number; zNear: number; zFar: number })[];
  lights: (SceneLabels & {
    kind: "directional" | "point" | "spot";
    color: number[];
    intensity: number;
    range: number;
    innerConeAngle: number;
    outerConeAngle: number;
  })[];
  clips: SceneClip[];
}

/** Reads a scene. The arrays of keyframes are views of `data`. */
export function readScene(data: Bytes): Scene;

/** Returns the value of a channel at a time in seconds. */
export function sampleChannel(channel: SceneChannel, time: number): number[];

export interface Ktx2Level {
  width: number;
  height: number;
  depth: number;
  offset: number;
  size: number;
  uncompressedSize: number;
  /** The stored bytes; null if the prefix does not hold them. */
  bytes: Uint8Array | null;
}

export interface Ktx2Sample {
  bitOffset: number;
  bitLength: number;
  channel: number;
  isLinear: boolean;
  isSigned: boolean;
  isFloat: boolean;
  lower: number;
  upper: number;
}

export interface Ktx2 {
  vkFormat: number;
  typeSize: number;
  width: number;
  height: number;
  /** Slices of a volume, otherwise 0. */
  depth: number;
  /** Elements of an array, otherwise 0. */
  layerCount: number;
  faceCount: 1 | 6;
  levelCount: number;
  supercompression: "none" | "basislz" | "zstd" | "zlib" | number;
  isSrgb: boolean;
  isUastc: boolean;
  levels: Ktx2Level[];
  descriptor: {
    model: number;
    primaries: number;
    transfer: number;
    isPremultiplied: boolean;
    blockWidth: number;
    blockHeight: number;
    blockBytes: number;
    samples: Ktx2Sample[];
  };
  keyValues: Map<string, Uint8Array>;
}

/** Reads the header of a KTX2 file, or of a prefix of a file of `fileSize` bytes. */
export function readKtx2(data: Bytes, fileSize?: number): Ktx2;

/** Returns the value of a key as a string. */
export function keyValueText(texture: Ktx2, key: string): string | undefined;

/** The formats to transcode to. */
export const Target: {
  readonly Rgba8: 0;
  readonly Astc4x4: 1;
  readonly Bc7: 2;
  readonly Bc1: 3;
  readonly Bc3: 4;
  readonly Bc4: 5;
  readonly Bc5Rg: 6;
  readonly Bc5Ra: 7;
  readonly Etc1: 8;
  readonly Etc2Rgba: 9;
  readonly EacR11: 10;
  readonly EacRg11: 11;
  readonly EacRa11: 12;
};
export type Target = (typeof Target)[keyof typeof Target];

/** A transcoded mip level. */
export interface TranscodedLevel {
  width: number;
  height: number;
  /** Layers times faces, one after the other in `bytes`. */
  images: number;
  vkFormat: number;
  levelCount: number;
  /** The largest mip level that the bytes hold. */
  firstAvailableLevel: number;
  outputSize: number;
  neededSize: number;
  bytes: Uint8Array;
}

/** The transcoder in WebAssembly. */
export class Transcoder {
  /** Compiles the transcoder from the bytes of `transcoder.wasm`, or from the `Response` of a fetch of it. */
  static load(source: Bytes | Response): Promise<Transcoder>;
  /** Transcodes the UASTC blocks of one image. */
  transcodeImage(blocks: Bytes, width: number, height: number, target: Target): Uint8Array;
  /** Decompresses one Zstandard frame whose content has `contentSize` bytes: for `readPack`. */
  decompress(frame: Bytes, contentSize: number): Uint8Array;
  /** Loads a mip level of a KTX2 file, or of a prefix of one. */
  loadLevel(file: Bytes, level: number, target: Target): TranscodedLevel;
}
