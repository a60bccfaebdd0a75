// Readers of Kiln's runtime formats for Node and browsers, without dependencies.

export { FormatError } from "./bytes.js";
export { Pack, packDirectorySize, readPack, readPackDirectory, unpackPayload } from "./pack.js";
export { hashReference, readManifest } from "./manifest.js";
export { checkIndices, readMesh, unpackVertices } from "./mesh.js";
export { decodeMesh, isCompressedMesh } from "./meshopt.js";
export { readScene, sampleChannel } from "./scene.js";
export { keyValueText, readKtx2 } from "./ktx2.js";
export { Target, Transcoder } from "./transcoder.js";
