/* Readers of Kiln's runtime formats for C and C++: packs, manifests, meshes, materials, animations, scenes, fonts, textures.
 *
 * Header-only, zero-copy, no allocation, no I/O: pass it the bytes of a file (memory-mapped, read, or a payload of a
 * pack) and use them in place. C99, C++11.
 *
 * Each kiln_*_open validates a file as the Rust view of the same name does, so that no later call reads out of bounds;
 * it returns KILN_OK or the error. The bytes must outlive the opened file. Their address must be a multiple of 16, as it
 * is for memory-mapped files, for memory from malloc on 64-bit systems and for the payloads of a memory-mapped pack.
 *
 * The layouts are documented in docs/reference/formats/; a test compares both with the Rust declarations. MIT or Apache-2.0.
 */
#ifndef KILN_H
#define KILN_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Kiln's files are little-endian and used in place: big-endian targets are not supported"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The result of opening a file. */
typedef enum kiln_status {
    KILN_OK = 0,
    KILN_UNALIGNED, /* the address of the bytes is not a multiple of 16 */
    KILN_TRUNCATED, /* unexpected end of file, or a range out of bounds */
    KILN_MAGIC,     /* not a file of this format */
    KILN_VERSION,   /* an unsupported version */
    KILN_VALUE,     /* an invalid value */
    KILN_ORDER,     /* a table out of order */
    KILN_PATH,      /* a path that could escape the root, or a string that is not UTF-8 */
    KILN_MISSING,   /* a required chunk is missing, or a chunk is duplicate */
    KILN_TRAILING   /* trailing bytes */
} kiln_status;

static inline const char *kiln_status_text(kiln_status status) {
    static const char *const texts[] = {
        "no error", "the address of the bytes is not a multiple of 16", "unexpected end of file",
        "not a file of this format", "unsupported version", "invalid value", "table is out of order",
        "invalid path or string", "chunk is missing or duplicate", "trailing bytes after the end of the file"};
    return (unsigned)status < sizeof texts / sizeof *texts ? texts[status] : "unknown status";
}

/* A byte range of a file. */
typedef struct kiln_bytes {
    const uint8_t *data;
    size_t size;
} kiln_bytes;

/* A string in a file: UTF-8, not NUL-terminated. */
typedef struct kiln_text {
    const char *data;
    size_t size;
} kiln_text;

/* ---- Unaligned little-endian reads ---- */

typedef struct kiln_cursor {
    const uint8_t *at;
    size_t left;
} kiln_cursor;

static inline uint16_t kiln_u16(const uint8_t *at) {
    uint16_t n;
    memcpy(&n, at, sizeof n);
    return n;
}

static inline uint32_t kiln_u32(const uint8_t *at) {
    uint32_t n;
    memcpy(&n, at, sizeof n);
    return n;
}

static inline uint64_t kiln_u64(const uint8_t *at) {
    uint64_t n;
    memcpy(&n, at, sizeof n);
    return n;
}

static inline float kiln_f32(const uint8_t *at) {
    float n;
    memcpy(&n, at, sizeof n);
    return n;
}

/* Returns the next bytes, or NULL if there are too few. */
static inline const uint8_t *kiln_take(kiln_cursor *cursor, uint64_t size) {
    const uint8_t *taken = cursor->at;
    if (size > cursor->left) return NULL;
    cursor->at += (size_t)size;
    cursor->left -= (size_t)size;
    return taken;
}

/* Tests the bits, so that -ffast-math cannot make it true for a NaN. */
static inline int kiln_finite(const float *numbers, size_t count) {
    size_t i;
    for (i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        if ((bits >> 23 & 0xff) == 0xff) return 0;
    }
    return 1;
}

static inline int kiln_aligned(const void *data) { return ((uintptr_t)data & 15) == 0; }

/* Returns the length of the character that starts at `at`, or 0 if it is not UTF-8. */
static inline size_t kiln_utf8(const uint8_t *at, size_t left) {
    uint8_t first = at[0], low = 0x80, high = 0xbf;
    size_t i, size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (size == 0 || size > left) return 0;
    if (first == 0xe0) low = 0xa0;  /* no overlong encodings */
    if (first == 0xed) high = 0x9f; /* no surrogates */
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f; /* nothing above U+10FFFF */
    for (i = 1; i < size; i++) {
        if (at[i] < low || at[i] > high) return 0;
        low = 0x80, high = 0xbf;
    }
    return size;
}

/* Returns whether a string is UTF-8 and, if it is a path, stays below the root that it is joined to. */
static inline int kiln_text_is_good(kiln_text text, int is_path) {
    const uint8_t *at = (const uint8_t *)text.data;
    size_t i = 0, start = 0;
    while (i < text.size || (is_path && i == text.size)) {
        size_t size;
        if (is_path && (i == text.size || at[i] == '/')) { /* the end of a component */
            size_t part = i - start;
            if (part == 0 || (at[start] == '.' && (part == 1 || (part == 2 && at[start + 1] == '.')))) return 0;
            start = ++i;
            continue;
        }
        size = kiln_utf8(at + i, text.size - i);
        if (size == 0) return 0;
        if (is_path) {
            if (at[i] < 0x20 || at[i] == 0x7f || at[i] == '\\' || at[i] == ':') return 0;
            if (at[i] == 0xc2 && at[i + 1] < 0xa0) return 0; /* the C1 control characters */
        }
        i += size;
    }
    return 1;
}

static inline int kiln_text_order(kiln_text a, kiln_text b) {
    size_t shared = a.size < b.size ? a.size : b.size;
    int order = shared ? memcmp(a.data, b.data, shared) : 0;
    return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

/* Returns the hash of an asset reference, the key of the manifest: FNV-1a 64 of its bytes after ASCII lowercasing. */
static inline uint64_t kiln_hash(const char *reference, size_t size) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    size_t i;
    for (i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)reference[i];
        if (byte >= 'A' && byte <= 'Z') byte = (uint8_t)(byte + 32);
        hash = (hash ^ byte) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* ---- .hpack: all runtime files of a build in one file ---- */

typedef enum kiln_pack_kind {
    KILN_PACK_OTHER = 0,
    KILN_PACK_MESH = 1,
    KILN_PACK_MATERIAL = 2,
    KILN_PACK_MANIFEST = 3,
    KILN_PACK_ANIMATION = 4,
    KILN_PACK_TEXTURE = 5,
    KILN_PACK_SHADER = 6,
    KILN_PACK_FONT = 7
} kiln_pack_kind;

typedef struct kiln_pack {
    kiln_bytes file;
    uint32_t version; /* 2, or 3 if files may be compressed */
    uint32_t count;
    kiln_cursor entries;
} kiln_pack;

typedef struct kiln_pack_entry {
    kiln_text path;
    kiln_pack_kind kind;
    kiln_bytes bytes;      /* the payload: the file or, in a pack that kiln_compressed_pack_open opened, a Zstandard frame */
    uint64_t content_size; /* the length of the file; greater than bytes.size if the payload is a Zstandard frame */
} kiln_pack_entry;

static inline kiln_pack_kind kiln_pack_kind_of(kiln_text path) {
    static const struct {
        const char *ext;
        kiln_pack_kind kind;
    } kinds[] = {{"hmesh", KILN_PACK_MESH},     {"hmat", KILN_PACK_MATERIAL}, {"hman", KILN_PACK_MANIFEST},
                 {"hanim", KILN_PACK_ANIMATION}, {"ktx2", KILN_PACK_TEXTURE},  {"spv", KILN_PACK_SHADER},
                 {"hfont", KILN_PACK_FONT}};
    size_t dot = path.size, i;
    while (dot > 0 && path.data[dot - 1] != '.' && path.data[dot - 1] != '/') dot--;
    /* A leading dot does not begin an extension. */
    if (dot < 2 || path.data[dot - 1] != '.' || path.data[dot - 2] == '/') return KILN_PACK_OTHER;
    for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t size = strlen(kinds[i].ext);
        if (path.size - dot == size && memcmp(path.data + dot, kinds[i].ext, size) == 0) return kinds[i].kind;
    }
    return KILN_PACK_OTHER;
}

/* The largest ratio of content to payload, and the length up to which a file may have any ratio: against decompression
 * bombs. */
#define KILN_PACK_MAX_RATIO UINT64_C(1024)
#define KILN_PACK_UNLIMITED_CONTENT (UINT64_C(1) << 20)

static inline int kiln_pack_size_is_accepted(uint64_t size, uint64_t content_size) {
    if (content_size == size) return 1;
    if (size == 0 || content_size < size) return 0;
    return content_size <= KILN_PACK_UNLIMITED_CONTENT || (content_size - 1) / KILN_PACK_MAX_RATIO < size;
}

/* Reads one record of the table of contents; the payload is not read. */
static inline kiln_status kiln_pack_record(uint32_t version, kiln_cursor *cursor, kiln_pack_entry *entry, uint64_t *offset,
                                           uint64_t *size) {
    const uint8_t *record = kiln_take(cursor, version == 3 ? 27 : 19), *last;
    if (!record) return KILN_TRUNCATED;
    last = record + (version == 3 ? 24 : 16);
    entry->path.size = kiln_u16(last + 1);
    entry->path.data = (const char *)kiln_take(cursor, entry->path.size);
    if (!entry->path.data) return KILN_TRUNCATED;
    if (!kiln_text_is_good(entry->path, 1)) return KILN_PATH;
    entry->kind = kiln_pack_kind_of(entry->path);
    *offset = kiln_u64(record);
    *size = kiln_u64(record + 8);
    entry->content_size = version == 3 ? kiln_u64(record + 16) : *size;
    if (!kiln_pack_size_is_accepted(*size, entry->content_size)) return KILN_VALUE;
    return last[0] == (uint8_t)entry->kind ? KILN_OK : KILN_VALUE;
}

/* Opens a pack of version 2 or 3: see kiln_pack_read. */
static inline kiln_status kiln_compressed_pack_open(const void *data, size_t size, kiln_pack *pack) {
    kiln_cursor cursor;
    const uint8_t *header;
    kiln_pack_entry entry, last;
    uint64_t toc, end, offset, length;
    uint32_t i;
    cursor.at = (const uint8_t *)data, cursor.left = size;
    if (!kiln_aligned(data)) return KILN_UNALIGNED;
    if (!(header = kiln_take(&cursor, 24))) return KILN_TRUNCATED;
    if (memcmp(header, "HPAK", 4) != 0) return KILN_MAGIC;
    pack->version = kiln_u32(header + 4);
    if (pack->version != 2 && pack->version != 3) return KILN_VERSION;
    if (kiln_u32(header + 12) != 0) return KILN_VALUE;
    toc = kiln_u64(header + 16);
    if (toc > cursor.left) return KILN_TRUNCATED;
    cursor.left = (size_t)toc;
    pack->file.data = (const uint8_t *)data, pack->file.size = size;
    pack->count = kiln_u32(header + 8);
    pack->entries = cursor;
    end = 24 + toc;
    last.path.data = NULL, last.path.size = 0;
    for (i = 0; i < pack->count; i++) {
        kiln_status status = kiln_pack_record(pack->version, &cursor, &entry, &offset, &length);
        if (status != KILN_OK) return status;
        if (i > 0 && kiln_text_order(last.path, entry.path) >= 0) return KILN_ORDER;
        last = entry;
        /* `end` is at most the size of memory: rounding it up does not overflow. */
        if (offset != (end + 15) / 16 * 16) {
            /* Entries with identical content share one payload, which is inside those before this one. */
            if (length == 0 || offset % 16 != 0 || offset < 24 + toc) return KILN_VALUE;
            if (offset > end || length > end - offset) return KILN_VALUE;
            continue;
        }
        if (offset > size || length > size - offset) return KILN_TRUNCATED;
        end = offset + length;
    }
    return cursor.left == 0 && end == size ? KILN_OK : KILN_TRAILING;
}

/* Opens a pack whose files are used in place: version 2. One with compressed files is KILN_VERSION. */
static inline kiln_status kiln_pack_open(const void *data, size_t size, kiln_pack *pack) {
    kiln_cursor cursor;
    const uint8_t *header;
    cursor.at = (const uint8_t *)data, cursor.left = size;
    header = kiln_take(&cursor, 24);
    if (kiln_aligned(data) && header && memcmp(header, "HPAK", 4) == 0 && kiln_u32(header + 4) == 3) return KILN_VERSION;
    return kiln_compressed_pack_open(data, size, pack);
}

/* Iterates over the files by path. Start with `*cursor = pack->entries`; returns 0 after the last. */
static inline int kiln_pack_next(const kiln_pack *pack, kiln_cursor *cursor, kiln_pack_entry *entry) {
    uint64_t offset, size;
    if (cursor->left == 0 || kiln_pack_record(pack->version, cursor, entry, &offset, &size) != KILN_OK) return 0;
    entry->bytes.data = pack->file.data + (size_t)offset;
    entry->bytes.size = (size_t)size;
    return 1;
}

/* Looks up a file; returns 0 if it does not exist. This is a linear search: for many lookups, build a map with
 * kiln_pack_next. */
static inline int kiln_pack_find(const kiln_pack *pack, kiln_text path, kiln_pack_entry *entry) {
    kiln_cursor cursor = pack->entries;
    while (kiln_pack_next(pack, &cursor, entry)) {
        int order = kiln_text_order(entry->path, path);
        if (order >= 0) return order == 0;
    }
    return 0;
}

/* Decompresses one Zstandard frame into a buffer of exactly its content; returns 0 if it cannot. `user` is the caller's. */
typedef int (*kiln_decompress)(void *user, kiln_bytes frame, uint8_t *out, size_t out_size);

/* Copies or decompresses a file into a buffer of exactly entry->content_size bytes; its address should be a multiple of 16.
 * `decompress` is called for compressed files only and may be NULL without them. Files that are stored as they are, those
 * with entry->bytes.size == entry->content_size, can be used in place instead. */
static inline kiln_status kiln_pack_read(const kiln_pack_entry *entry, kiln_decompress decompress, void *user, void *out,
                                         size_t out_size) {
    if (out_size != entry->content_size) return KILN_TRUNCATED;
    if (entry->bytes.size == entry->content_size) {
        if (out_size) memcpy(out, entry->bytes.data, out_size);
        return KILN_OK;
    }
    return decompress && decompress(user, entry->bytes, (uint8_t *)out, out_size) ? KILN_OK : KILN_VALUE;
}

/* ---- .hman: maps hashes of asset references to paths ---- */

typedef enum kiln_asset_kind {
    KILN_ASSET_TEXTURE = 0,
    KILN_ASSET_MESH = 1,
    KILN_ASSET_MATERIAL = 2,
    KILN_ASSET_LUT = 3,
    KILN_ASSET_SHADER = 4,
    KILN_ASSET_EMBED = 5,
    KILN_ASSET_ANIMATION = 6,
    KILN_ASSET_FONT = 7
} kiln_asset_kind;

typedef struct kiln_manifest {
    uint32_t count;
    kiln_cursor entries;
} kiln_manifest;

typedef struct kiln_asset {
    uint64_t hash;
    kiln_asset_kind kind;
    uint8_t is_srgb;
    kiln_text path;
} kiln_asset;

static inline kiln_status kiln_manifest_record(kiln_cursor *cursor, kiln_asset *asset) {
    const uint8_t *record = kiln_take(cursor, 12);
    if (!record) return KILN_TRUNCATED;
    asset->path.size = kiln_u16(record + 10);
    asset->path.data = (const char *)kiln_take(cursor, asset->path.size);
    if (!asset->path.data) return KILN_TRUNCATED;
    if (!kiln_text_is_good(asset->path, 1)) return KILN_PATH;
    if (record[8] > KILN_ASSET_FONT || record[9] > 1) return KILN_VALUE;
    asset->hash = kiln_u64(record);
    asset->kind = (kiln_asset_kind)record[8];
    asset->is_srgb = record[9];
    return KILN_OK;
}

static inline kiln_status kiln_manifest_open(const void *data, size_t size, kiln_manifest *manifest) {
    kiln_cursor cursor;
    const uint8_t *header;
    kiln_asset asset, last;
    uint32_t i;
    cursor.at = (const uint8_t *)data, cursor.left = size;
    if (!(header = kiln_take(&cursor, 16))) return KILN_TRUNCATED;
    if (memcmp(header, "HMAN", 4) != 0) return KILN_MAGIC;
    if (kiln_u32(header + 4) != 1) return KILN_VERSION;
    if (kiln_u32(header + 12) != 0) return KILN_VALUE;
    manifest->count = kiln_u32(header + 8);
    manifest->entries = cursor;
    last.hash = 0, last.path.data = NULL, last.path.size = 0;
    for (i = 0; i < manifest->count; i++) {
        kiln_status status = kiln_manifest_record(&cursor, &asset);
        if (status != KILN_OK) return status;
        if (i > 0 && (last.hash > asset.hash ||
                      (last.hash == asset.hash && kiln_text_order(last.path, asset.path) >= 0)))
            return KILN_ORDER;
        last = asset;
    }
    return cursor.left == 0 ? KILN_OK : KILN_TRAILING;
}

/* Iterates over the entries by hash. Start with `*cursor = manifest->entries`; returns 0 after the last. */
static inline int kiln_manifest_next(kiln_cursor *cursor, kiln_asset *asset) {
    return cursor->left != 0 && kiln_manifest_record(cursor, asset) == KILN_OK;
}

/* Looks up a hash; returns 0 if it does not exist. This is a linear search: for many lookups, build a map with
 * kiln_manifest_next. */
static inline int kiln_manifest_find(const kiln_manifest *manifest, uint64_t hash, kiln_asset *asset) {
    kiln_cursor cursor = manifest->entries;
    while (kiln_manifest_next(&cursor, asset))
        if (asset->hash >= hash) return asset->hash == hash;
    return 0;
}

/* ---- .hmesh: GPU-ready geometry ---- */

#define KILN_NO_MATERIAL UINT32_MAX
#define KILN_NO_PARENT (-1)

typedef struct kiln_mesh_desc {
    uint32_t vertex_count, index_count, meshlet_count, submesh_count, material_count;
    uint16_t vertex_stride;
    uint8_t index_width, flags; /* flags: bit 0, vertices have tangents */
    uint32_t meshlet_max_verts, meshlet_max_tris;
} kiln_mesh_desc;

typedef struct kiln_mesh_bounds {
    float aabb_min[3], aabb_max[3], sphere_center[3], sphere_radius;
} kiln_mesh_bounds;

typedef struct kiln_vertex {
    float position[3];
    int16_t normal[2];  /* octahedral encoding: R16G16_SNORM */
    int16_t tangent[2]; /* octahedral encoding, least significant bit of x set for negative handedness: R16G16_SINT */
    float uv[2];
} kiln_vertex;

typedef struct kiln_meshlet {
    uint32_t vertex_offset, vertex_count, triangle_offset, triangle_count;
} kiln_meshlet;

typedef struct kiln_meshlet_bounds {
    float center[3], radius, cone_axis[3], cone_cutoff;
} kiln_meshlet_bounds;

typedef struct kiln_submesh {
    uint32_t first_index, index_count, first_meshlet, meshlet_count, material_slot, base_vertex;
    kiln_mesh_bounds bounds;
} kiln_submesh;

typedef struct kiln_skin_vertex {
    uint16_t joints[4];
    float weights[4];
} kiln_skin_vertex;

typedef struct kiln_joint {
    float inverse_bind[16], bind_t[3], bind_r[4], bind_s[3];
    int32_t parent;
    uint32_t pad;
} kiln_joint;

typedef struct kiln_mesh_lod {
    uint32_t first_index, index_count;
} kiln_mesh_lod;

#define KILN_NO_GROUP UINT32_MAX

/* Clusters that coarser clusters replace together. error is FLT_MAX at a root. */
typedef struct kiln_cluster_group {
    float center[3], radius, error;
    uint32_t submesh, page, first_cluster, cluster_count, coarse_count, depth;
} kiln_cluster_group;

/* refined: the group that the cluster is a simplification of, or KILN_NO_GROUP. */
typedef struct kiln_cluster {
    kiln_meshlet_bounds bounds;
    uint32_t group, refined, offset;
    uint16_t vertex_count, triangle_count;
} kiln_cluster;

typedef struct kiln_cluster_page {
    uint64_t offset;
    uint32_t size, first_group, group_count, pad;
} kiln_cluster_page;

/* The morph targets of one drawn mesh: submeshes that follow one another and share their weights. */
typedef struct kiln_morph_set {
    uint32_t first_submesh, submesh_count, first_target, target_count;
} kiln_morph_set;

typedef struct kiln_morph_target {
    uint32_t name_offset, name_size;
    float weight; /* the default */
    uint32_t first_delta, delta_count;
} kiln_morph_target;

/* A vertex that a morph target moves. The vertices of a target ascend. */
typedef struct kiln_morph_delta {
    uint32_t vertex;
    float position[3];
} kiln_morph_delta;

/* A node of the source, after its parent. Several nodes may draw the same submeshes. */
typedef struct kiln_mesh_node {
    uint32_t name_offset, name_size;
    int32_t parent;
    uint32_t first_submesh, submesh_count;
    float translation[3], rotation[4], scale[3];
} kiln_mesh_node;

/* Absent arrays are NULL with a count of 0. The pointers are into the file and can be uploaded directly. */
typedef struct kiln_mesh {
    kiln_mesh_desc desc;
    kiln_mesh_bounds bounds;
    const kiln_vertex *vertices;
    const void *indices; /* uint16_t or uint32_t, according to desc.index_width */
    const kiln_meshlet *meshlets;
    const kiln_meshlet_bounds *meshlet_bounds;
    const uint32_t *meshlet_vertices;
    size_t meshlet_vertex_count;
    const uint8_t (*meshlet_triangles)[3];
    size_t meshlet_triangle_count;
    const uint64_t *materials;
    const kiln_submesh *submeshes;
    const kiln_skin_vertex *skin;
    const kiln_joint *joints;
    uint32_t joint_count;
    const uint32_t *lod_indices;
    size_t lod_index_count;
    const kiln_mesh_lod *lods; /* grouped by submesh, finest first */
    uint32_t lod_count;        /* LODs per submesh, not counting the full mesh */
    const kiln_cluster_group *groups; /* cluster LODs, from the greatest error to the smallest */
    uint32_t group_count;
    const kiln_cluster *clusters;
    uint32_t cluster_count;
    const kiln_cluster_page *pages;
    uint32_t page_count;
    const uint8_t *page_data;
    size_t page_data_size;
    const void *colors;        /* per vertex, linear RGBA: 8-bit UNORM, 16-bit UNORM or float, by the stride */
    uint32_t color_stride;     /* 4, 8 or 16; 0 without colours */
    uint32_t uv_set_count;     /* including the one in the vertices */
    const float (*uv_sets)[2]; /* the UV sets after the first, each with vertex_count values */
    const kiln_morph_set *morph_sets;
    uint32_t morph_set_count, morph_target_count;
    const kiln_morph_target *morph_targets;
    const kiln_morph_delta *morph_deltas;
    size_t morph_delta_count;
    const float (*morph_normals)[3];  /* per delta, or NULL */
    const float (*morph_tangents)[3]; /* per delta, or NULL */
    const kiln_mesh_node *nodes;
    uint32_t node_count;
    kiln_text names;
} kiln_mesh;

enum {
    KILN_DESC, KILN_BNDS, KILN_VTXS, KILN_IDXS, KILN_MLET, KILN_MLVR, KILN_MLTR, KILN_MLBN,
    KILN_MTRL, KILN_SUBM, KILN_SKIN, KILN_SKEL, KILN_LODI, KILN_LODT,
    KILN_CLGR, KILN_CLST, KILN_CLPT, KILN_CLPG, KILN_COLR, KILN_UVST,
    KILN_MSET, KILN_MTGT, KILN_MDLT, KILN_MDNR, KILN_MDTN, KILN_NODE, KILN_NAME, KILN_CHUNKS
};

/* Rejects cycles in the joint hierarchy: a walk with more steps than joints has visited one twice. One bit per joint
 * that is known to reach a root keeps the check linear. */
static inline kiln_status kiln_check_joints(const kiln_joint *joints, uint32_t count) {
    uint64_t rooted[65536 / 64];
    uint32_t i;
    for (i = 0; i < count; i++)
        if (joints[i].parent != KILN_NO_PARENT && (uint32_t)joints[i].parent >= count) return KILN_VALUE;
    memset(rooted, 0, sizeof rooted);
    for (i = 0; i < count; i++) {
        uint32_t steps = 0;
        int32_t next = (int32_t)i;
        while (next >= 0 && !(rooted[next / 64] >> (next % 64) & 1)) {
            if (steps++ == count) return KILN_VALUE;
            next = joints[next].parent;
        }
        next = (int32_t)i;
        while (next >= 0 && !(rooted[next / 64] >> (next % 64) & 1)) {
            rooted[next / 64] |= UINT64_C(1) << (next % 64);
            next = joints[next].parent;
        }
    }
    return KILN_OK;
}

static inline kiln_status kiln_check_submeshes(const kiln_mesh *mesh) {
    uint64_t indices = 0, meshlets = 0;
    uint32_t i;
    for (i = 0; i < mesh->desc.submesh_count; i++) {
        const kiln_submesh *sub = &mesh->submeshes[i];
        if (sub->first_index != indices || sub->index_count % 3 != 0 || sub->first_meshlet != meshlets) return KILN_VALUE;
        if (sub->base_vertex != 0) return KILN_VALUE;
        if (sub->material_slot != KILN_NO_MATERIAL && sub->material_slot >= mesh->desc.material_count) return KILN_VALUE;
        indices += sub->index_count;
        meshlets += sub->meshlet_count;
    }
    return indices == mesh->desc.index_count && meshlets == mesh->desc.meshlet_count ? KILN_OK : KILN_VALUE;
}

static inline kiln_status kiln_check_lods(const kiln_mesh *mesh) {
    uint64_t indices = 0, rows = (uint64_t)mesh->lod_count * mesh->desc.submesh_count, i;
    for (i = 0; i < rows; i++) {
        const kiln_mesh_lod *lod = &mesh->lods[i];
        if (lod->first_index != (lod->index_count == 0 ? 0 : indices) || lod->index_count % 3 != 0) return KILN_VALUE;
        indices += lod->index_count;
    }
    return indices == mesh->lod_index_count ? KILN_OK : KILN_VALUE;
}

/* Returns the size of a cluster's geometry: vertex indices, vertices, triangles, zeros up to a multiple of 4. */
static inline uint32_t kiln_cluster_size(const kiln_cluster *cluster) {
    return cluster->vertex_count * (4u + (uint32_t)sizeof(kiln_vertex)) + (cluster->triangle_count * 3u + 3u) / 4u * 4u;
}

/* Returns whether the numbers of a group are finite, its error is at most that of the group before, and coarse_count is 0
 * at a root only. Comparisons are false for NaN. */
static inline int kiln_check_group(const kiln_cluster_group *group, float previous) {
    int axis;
    for (axis = 0; axis < 3; axis++)
        if (!(group->center[axis] >= -FLT_MAX && group->center[axis] <= FLT_MAX)) return 0;
    if (!(group->radius >= 0 && group->radius <= FLT_MAX) || !(group->error >= 0 && group->error <= previous)) return 0;
    return (group->error >= FLT_MAX) == (group->coarse_count == 0);
}

/* Returns whether the sphere of a group contains that of another. */
static inline int kiln_group_contains(const kiln_cluster_group *outer, const kiln_cluster_group *inner) {
    double room = (double)outer->radius - inner->radius, square = 0;
    int axis;
    for (axis = 0; axis < 3; axis++) {
        double apart = (double)outer->center[axis] - inner->center[axis];
        square += apart * apart;
    }
    return room >= 0 && square <= room * room;
}

/* Checks that pages, groups and clusters follow one another, and that each cluster refines to a group below. */
static inline kiln_status kiln_check_clusters(const kiln_mesh *mesh) {
    uint64_t end = 0, groups = 0, clusters = 0;
    uint32_t p, g, c;
    float previous = FLT_MAX;
    for (p = 0; p < mesh->page_count; p++) {
        const kiln_cluster_page *page = &mesh->pages[p];
        uint64_t used = 0;
        if (page->offset != end || page->size == 0 || page->size > 131072 || page->size % 16 != 0) return KILN_VALUE;
        if (page->first_group != groups || page->group_count == 0 || page->pad != 0) return KILN_VALUE;
        end += page->size;
        groups += page->group_count;
        if (groups > mesh->group_count || end > mesh->page_data_size) return KILN_VALUE;
        for (g = page->first_group; g < groups; g++) {
            const kiln_cluster_group *group = &mesh->groups[g];
            if (group->page != p || group->submesh >= mesh->desc.submesh_count) return KILN_VALUE;
            if (group->first_cluster != clusters || group->cluster_count == 0) return KILN_VALUE;
            if (!kiln_check_group(group, previous)) return KILN_VALUE;
            previous = group->error;
            clusters += group->cluster_count;
            if (clusters > mesh->cluster_count) return KILN_VALUE;
            for (c = group->first_cluster; c < clusters; c++) {
                const kiln_cluster *cluster = &mesh->clusters[c];
                if (cluster->group != g || cluster->offset != used) return KILN_VALUE;
                if (cluster->vertex_count == 0 || cluster->vertex_count > mesh->desc.meshlet_max_verts) return KILN_VALUE;
                if (cluster->triangle_count == 0 || cluster->triangle_count > mesh->desc.meshlet_max_tris) return KILN_VALUE;
                if ((cluster->refined == KILN_NO_GROUP) != (group->depth == 0)) return KILN_VALUE;
                if (cluster->refined != KILN_NO_GROUP) {
                    if (cluster->refined <= g || cluster->refined >= mesh->group_count) return KILN_VALUE;
                    if (mesh->groups[cluster->refined].depth + 1 != group->depth) return KILN_VALUE;
                    if (mesh->groups[cluster->refined].submesh != group->submesh) return KILN_VALUE;
                    if (!kiln_group_contains(group, &mesh->groups[cluster->refined])) return KILN_VALUE;
                }
                used += kiln_cluster_size(cluster);
            }
        }
        if ((used + 15) / 16 * 16 != page->size) return KILN_VALUE;
    }
    if (groups != mesh->group_count || clusters != mesh->cluster_count || end != mesh->page_data_size) return KILN_VALUE;
    return KILN_OK;
}

/* Returns a name of a mesh, or an empty string if its range is out of bounds or it is not UTF-8. */
static inline kiln_text kiln_mesh_name(const kiln_mesh *mesh, uint32_t offset, uint32_t size) {
    kiln_text name = {"", 0};
    if (offset > mesh->names.size || size > mesh->names.size - offset || size == 0) return name;
    name.data = mesh->names.data + offset;
    name.size = size;
    return name;
}

static inline kiln_status kiln_check_mesh_name(const kiln_mesh *mesh, uint32_t offset, uint32_t size) {
    if (offset > mesh->names.size || size > mesh->names.size - offset) return KILN_TRUNCATED;
    return kiln_text_is_good(kiln_mesh_name(mesh, offset, size), 0) ? KILN_OK : KILN_PATH;
}

/* Checks the tables of morph targets and nodes, so that ranges can be followed. */
static inline kiln_status kiln_check_mesh_extra(const kiln_mesh *mesh) {
    uint64_t submeshes = 0, targets = 0, deltas = 0;
    uint32_t i;
    kiln_status status;
    for (i = 0; i < mesh->morph_set_count; i++) {
        const kiln_morph_set *set = &mesh->morph_sets[i];
        if (set->first_submesh < submeshes) return KILN_ORDER;
        submeshes = (uint64_t)set->first_submesh + set->submesh_count;
        if (set->submesh_count == 0 || submeshes > mesh->desc.submesh_count) return KILN_VALUE;
        if (set->first_target != targets || set->target_count == 0) return KILN_VALUE;
        targets += set->target_count;
    }
    if (targets != mesh->morph_target_count) return KILN_VALUE;
    for (i = 0; i < mesh->morph_target_count; i++) {
        const kiln_morph_target *target = &mesh->morph_targets[i];
        if ((status = kiln_check_mesh_name(mesh, target->name_offset, target->name_size)) != KILN_OK) return status;
        if (!kiln_finite(&target->weight, 1) || target->first_delta != deltas) return KILN_VALUE;
        deltas += target->delta_count;
        if (deltas > mesh->morph_delta_count) return KILN_VALUE;
    }
    if (deltas != mesh->morph_delta_count) return KILN_VALUE;
    for (i = 0; i < mesh->node_count; i++) {
        const kiln_mesh_node *node = &mesh->nodes[i];
        if ((status = kiln_check_mesh_name(mesh, node->name_offset, node->name_size)) != KILN_OK) return status;
        if (node->parent != KILN_NO_PARENT && (uint32_t)node->parent >= i) return KILN_VALUE;
        if ((uint64_t)node->first_submesh + node->submesh_count > mesh->desc.submesh_count) return KILN_VALUE;
        if (!kiln_finite(node->translation, 3) || !kiln_finite(node->rotation, 4) || !kiln_finite(node->scale, 3))
            return KILN_VALUE;
    }
    return KILN_OK;
}

static inline kiln_status kiln_mesh_open(const void *data, size_t size, kiln_mesh *mesh) {
    static const char names[KILN_CHUNKS][5] = {"DESC", "BNDS", "VTXS", "IDXS", "MLET", "MLVR", "MLTR",
                                               "MLBN", "MTRL", "SUBM", "SKIN", "SKEL", "LODI", "LODT",
                                               "CLGR", "CLST", "CLPT", "CLPG",
                                               "COLR", "UVST", "MSET", "MTGT", "MDLT", "MDNR", "MDTN",
                                               "NODE", "NAME"};
    const uint8_t *file = (const uint8_t *)data, *header, *table;
    kiln_bytes chunk[KILN_CHUNKS];
    int there[KILN_CHUNKS] = {0};
    kiln_cursor cursor;
    kiln_mesh_desc *desc = &mesh->desc;
    uint64_t need[KILN_CHUNKS] = {0};
    uint32_t count, i;
    int id;
    memset(mesh, 0, sizeof *mesh);
    memset(chunk, 0, sizeof chunk);
    cursor.at = file, cursor.left = size;
    if (!kiln_aligned(data)) return KILN_UNALIGNED;
    if (!(header = kiln_take(&cursor, 32))) return KILN_TRUNCATED;
    if (memcmp(header, "HMSH", 4) != 0) return KILN_MAGIC;
    if (kiln_u32(header + 4) != 2) return KILN_VERSION;
    if (kiln_u32(header + 12) != 0 || kiln_u64(header + 16) != 0 || kiln_u64(header + 24) != 0) return KILN_VALUE;
    count = kiln_u32(header + 8);
    if (count > 256) return KILN_VALUE;
    if (!(table = kiln_take(&cursor, (uint64_t)count * 24))) return KILN_TRUNCATED;
    for (i = 0; i < count; i++) {
        const uint8_t *entry = table + i * 24;
        uint64_t offset = kiln_u64(entry + 8), length = kiln_u64(entry + 16);
        if (offset % 16 != 0) return KILN_VALUE;
        if (offset < 32 + (uint64_t)count * 24 || offset > size || length > size - offset) return KILN_TRUNCATED;
        for (id = 0; id < KILN_CHUNKS; id++) {
            if (memcmp(entry, names[id], 4) != 0) continue;
            if (kiln_u32(entry + 4) != 0) return KILN_VALUE;
            if (there[id]++) return KILN_MISSING;
            chunk[id].data = file + (size_t)offset;
            chunk[id].size = (size_t)length;
        }
    }
    for (id = 0; id < KILN_CHUNKS; id++) {
        int needed = id == KILN_DESC || id == KILN_BNDS || id == KILN_VTXS || id == KILN_IDXS || id == KILN_SUBM;
        if (needed && !there[id]) return KILN_MISSING;
    }
    if (chunk[KILN_DESC].size != sizeof *desc || chunk[KILN_BNDS].size != sizeof mesh->bounds) return KILN_VALUE;
    memcpy(desc, chunk[KILN_DESC].data, sizeof *desc);
    memcpy(&mesh->bounds, chunk[KILN_BNDS].data, sizeof mesh->bounds);
    if (desc->submesh_count == 0 || desc->vertex_stride != sizeof(kiln_vertex)) return KILN_VALUE;
    if ((desc->index_width != 2 && desc->index_width != 4) || desc->flags > 1) return KILN_VALUE;
    if (desc->meshlet_max_verts > 256) return KILN_VALUE;

    need[KILN_DESC] = sizeof *desc;
    need[KILN_BNDS] = sizeof mesh->bounds;
    need[KILN_VTXS] = (uint64_t)desc->vertex_count * sizeof(kiln_vertex);
    need[KILN_IDXS] = (uint64_t)desc->index_count * desc->index_width;
    need[KILN_MLET] = (uint64_t)desc->meshlet_count * sizeof(kiln_meshlet);
    need[KILN_MLVR] = chunk[KILN_MLVR].size / 4 * 4;
    need[KILN_MLTR] = chunk[KILN_MLTR].size / 3 * 3;
    need[KILN_MLBN] = (uint64_t)desc->meshlet_count * sizeof(kiln_meshlet_bounds);
    need[KILN_MTRL] = (uint64_t)desc->material_count * 8;
    need[KILN_SUBM] = (uint64_t)desc->submesh_count * sizeof(kiln_submesh);
    need[KILN_SKIN] = there[KILN_SKIN] ? (uint64_t)desc->vertex_count * sizeof(kiln_skin_vertex) : 0;
    need[KILN_SKEL] = chunk[KILN_SKEL].size / sizeof(kiln_joint) * sizeof(kiln_joint);
    need[KILN_LODI] = chunk[KILN_LODI].size / 4 * 4;
    if (there[KILN_LODT]) {
        uint64_t rows;
        if (chunk[KILN_LODT].size < 8) return KILN_VALUE;
        mesh->lod_count = kiln_u32(chunk[KILN_LODT].data);
        if (kiln_u32(chunk[KILN_LODT].data + 4) != desc->submesh_count) return KILN_VALUE;
        rows = (uint64_t)mesh->lod_count * desc->submesh_count;
        /* Compared by division: the product of all three could overflow 64 bits. */
        if ((chunk[KILN_LODT].size - 8) % 8 != 0 || (chunk[KILN_LODT].size - 8) / 8 != rows) return KILN_VALUE;
        need[KILN_LODT] = chunk[KILN_LODT].size;
        mesh->lods = (const kiln_mesh_lod *)(const void *)(chunk[KILN_LODT].data + 8);
    }
    need[KILN_CLGR] = chunk[KILN_CLGR].size / sizeof(kiln_cluster_group) * sizeof(kiln_cluster_group);
    need[KILN_CLST] = chunk[KILN_CLST].size / sizeof(kiln_cluster) * sizeof(kiln_cluster);
    need[KILN_CLPT] = chunk[KILN_CLPT].size / sizeof(kiln_cluster_page) * sizeof(kiln_cluster_page);
    need[KILN_CLPG] = chunk[KILN_CLPG].size;
    if (there[KILN_CLGR] + there[KILN_CLST] + there[KILN_CLPT] + there[KILN_CLPG] != 4 * there[KILN_CLGR]) return KILN_MISSING;
    if (there[KILN_COLR]) {
        uint64_t colors = desc->vertex_count, stride = 4;
        while (stride < 16 && colors * stride != chunk[KILN_COLR].size) stride *= 2;
        need[KILN_COLR] = colors * stride;
        mesh->color_stride = desc->vertex_count ? (uint32_t)stride : 4;
    }
    if (desc->vertex_count) {
        uint64_t sets = chunk[KILN_UVST].size / ((uint64_t)desc->vertex_count * 8);
        if (sets >= UINT32_MAX) sets = UINT32_MAX - 1;
        need[KILN_UVST] = sets * desc->vertex_count * 8;
        mesh->uv_set_count = (uint32_t)sets;
    }
    mesh->uv_set_count++;
    need[KILN_MSET] = chunk[KILN_MSET].size / sizeof(kiln_morph_set) * sizeof(kiln_morph_set);
    need[KILN_MTGT] = chunk[KILN_MTGT].size / sizeof(kiln_morph_target) * sizeof(kiln_morph_target);
    need[KILN_MDLT] = chunk[KILN_MDLT].size / sizeof(kiln_morph_delta) * sizeof(kiln_morph_delta);
    need[KILN_MDNR] = there[KILN_MDNR] ? need[KILN_MDLT] / sizeof(kiln_morph_delta) * 12 : 0;
    need[KILN_MDTN] = there[KILN_MDTN] ? need[KILN_MDLT] / sizeof(kiln_morph_delta) * 12 : 0;
    need[KILN_NODE] = chunk[KILN_NODE].size / sizeof(kiln_mesh_node) * sizeof(kiln_mesh_node);
    need[KILN_NAME] = chunk[KILN_NAME].size;
    for (id = KILN_MSET; id <= KILN_NODE; id++)
        if (need[id] / 12 > UINT32_MAX) return KILN_VALUE;
    for (id = 0; id < KILN_CHUNKS; id++)
        if (chunk[id].size != need[id]) return there[id] ? KILN_VALUE : KILN_MISSING;
    if (there[KILN_SKIN] && !there[KILN_SKEL]) return KILN_MISSING;

    mesh->vertices = (const kiln_vertex *)(const void *)chunk[KILN_VTXS].data;
    mesh->indices = chunk[KILN_IDXS].data;
    mesh->meshlets = (const kiln_meshlet *)(const void *)chunk[KILN_MLET].data;
    mesh->meshlet_vertices = (const uint32_t *)(const void *)chunk[KILN_MLVR].data;
    mesh->meshlet_vertex_count = chunk[KILN_MLVR].size / 4;
    mesh->meshlet_triangles = (const uint8_t(*)[3])(const void *)chunk[KILN_MLTR].data;
    mesh->meshlet_triangle_count = chunk[KILN_MLTR].size / 3;
    mesh->meshlet_bounds = (const kiln_meshlet_bounds *)(const void *)chunk[KILN_MLBN].data;
    mesh->materials = (const uint64_t *)(const void *)chunk[KILN_MTRL].data;
    mesh->submeshes = (const kiln_submesh *)(const void *)chunk[KILN_SUBM].data;
    mesh->skin = (const kiln_skin_vertex *)(const void *)chunk[KILN_SKIN].data;
    mesh->joints = (const kiln_joint *)(const void *)chunk[KILN_SKEL].data;
    mesh->lod_indices = (const uint32_t *)(const void *)chunk[KILN_LODI].data;
    mesh->lod_index_count = chunk[KILN_LODI].size / 4;
    if (there[KILN_SKEL]) {
        size_t joints = chunk[KILN_SKEL].size / sizeof(kiln_joint);
        if (joints < 1 || joints > 65536) return KILN_VALUE;
        mesh->joint_count = (uint32_t)joints;
    }
    mesh->groups = (const kiln_cluster_group *)(const void *)chunk[KILN_CLGR].data;
    mesh->group_count = (uint32_t)(chunk[KILN_CLGR].size / sizeof(kiln_cluster_group));
    mesh->clusters = (const kiln_cluster *)(const void *)chunk[KILN_CLST].data;
    mesh->cluster_count = (uint32_t)(chunk[KILN_CLST].size / sizeof(kiln_cluster));
    mesh->pages = (const kiln_cluster_page *)(const void *)chunk[KILN_CLPT].data;
    mesh->page_count = (uint32_t)(chunk[KILN_CLPT].size / sizeof(kiln_cluster_page));
    mesh->page_data = chunk[KILN_CLPG].data;
    mesh->page_data_size = chunk[KILN_CLPG].size;
    mesh->colors = chunk[KILN_COLR].data;
    mesh->uv_sets = (const float(*)[2])(const void *)chunk[KILN_UVST].data;
    mesh->morph_sets = (const kiln_morph_set *)(const void *)chunk[KILN_MSET].data;
    mesh->morph_set_count = (uint32_t)(chunk[KILN_MSET].size / sizeof(kiln_morph_set));
    mesh->morph_targets = (const kiln_morph_target *)(const void *)chunk[KILN_MTGT].data;
    mesh->morph_target_count = (uint32_t)(chunk[KILN_MTGT].size / sizeof(kiln_morph_target));
    mesh->morph_deltas = (const kiln_morph_delta *)(const void *)chunk[KILN_MDLT].data;
    mesh->morph_delta_count = chunk[KILN_MDLT].size / sizeof(kiln_morph_delta);
    mesh->morph_normals = (const float(*)[3])(const void *)chunk[KILN_MDNR].data;
    mesh->morph_tangents = (const float(*)[3])(const void *)chunk[KILN_MDTN].data;
    mesh->nodes = (const kiln_mesh_node *)(const void *)chunk[KILN_NODE].data;
    mesh->node_count = (uint32_t)(chunk[KILN_NODE].size / sizeof(kiln_mesh_node));
    mesh->names.data = (const char *)chunk[KILN_NAME].data;
    mesh->names.size = chunk[KILN_NAME].size;
    if (kiln_check_submeshes(mesh) != KILN_OK || kiln_check_lods(mesh) != KILN_OK) return KILN_VALUE;
    if (kiln_check_joints(mesh->joints, mesh->joint_count) != KILN_OK) return KILN_VALUE;
    if (kiln_check_clusters(mesh) != KILN_OK) return KILN_VALUE;
    return kiln_check_mesh_extra(mesh);
}

/* Returns index `i` of all submeshes; `i` must be below desc.index_count. */
static inline uint32_t kiln_mesh_index(const kiln_mesh *mesh, uint32_t i) {
    return mesh->desc.index_width == 2 ? ((const uint16_t *)mesh->indices)[i] : ((const uint32_t *)mesh->indices)[i];
}

/* Returns the indices of a LOD (0 is the first simplified one), or NULL if the preceding LOD is to be drawn. */
static inline const uint32_t *kiln_mesh_lod_indices(const kiln_mesh *mesh, uint32_t submesh, uint32_t lod, uint32_t *count) {
    const kiln_mesh_lod *row;
    *count = 0;
    if (submesh >= mesh->desc.submesh_count || lod >= mesh->lod_count) return NULL;
    row = &mesh->lods[(size_t)submesh * mesh->lod_count + lod];
    *count = row->index_count;
    return row->index_count ? mesh->lod_indices + row->first_index : NULL;
}

/* The geometry of a cluster: indices into the vertices of the mesh, copies of these vertices, and triangles. */
typedef struct kiln_cluster_geometry {
    const uint32_t *indices;
    const kiln_vertex *vertices;
    const uint8_t (*triangles)[3];
} kiln_cluster_geometry;

static inline kiln_cluster_geometry kiln_mesh_cluster_geometry(const kiln_mesh *mesh, const kiln_cluster *cluster) {
    const uint8_t *at = mesh->page_data + (size_t)mesh->pages[mesh->groups[cluster->group].page].offset + cluster->offset;
    kiln_cluster_geometry geometry;
    geometry.indices = (const uint32_t *)(const void *)at;
    at += (size_t)cluster->vertex_count * 4;
    geometry.vertices = (const kiln_vertex *)(const void *)at;
    at += cluster->vertex_count * sizeof(kiln_vertex);
    geometry.triangles = (const uint8_t(*)[3])(const void *)at;
    return geometry;
}

/* The view that a cut is selected for: the camera in the space of the mesh, half the height of the viewport in pixels
 * divided by the tangent of half the vertical field of view, the near plane, and the largest error in pixels. */
typedef struct kiln_cut_view {
    float camera[3], scale, near_plane, threshold;
} kiln_cut_view;

/* Returns whether a group is too coarse to be replaced by the clusters above it. */
static inline int kiln_cluster_group_is_refined(const kiln_cluster_group *group, const kiln_cut_view *view) {
    double reach = (double)group->error * view->scale / view->threshold, limit = reach + group->radius, square = 0;
    int axis;
    for (axis = 0; axis < 3; axis++) {
        double apart = (double)group->center[axis] - view->camera[axis];
        square += apart * apart;
    }
    return view->near_plane < reach && square < limit * limit;
}

/* Returns whether a cluster is in the cut for a view. Pages from `pages` on are not loaded; pass UINT32_MAX for all. */
static inline int kiln_mesh_cluster_is_drawn(const kiln_mesh *mesh, const kiln_cluster *cluster, const kiln_cut_view *view,
                                             uint32_t pages) {
    const kiln_cluster_group *group = &mesh->groups[cluster->group], *refined;
    if (group->page >= pages || !kiln_cluster_group_is_refined(group, view)) return 0;
    if (cluster->refined == KILN_NO_GROUP) return 1;
    refined = &mesh->groups[cluster->refined];
    return refined->page >= pages || !kiln_cluster_group_is_refined(refined, view);
}

/* For untrusted files: returns whether every vertex index, joint index and meshlet is in range. The time is linear in
 * the size of the mesh, so kiln_mesh_open does not do it; files that assetc wrote do not need it. */
static inline kiln_status kiln_mesh_check_indices(const kiln_mesh *mesh) {
    const kiln_mesh_desc *desc = &mesh->desc;
    uint64_t vertices = 0, triangles = 0;
    size_t i;
    uint32_t m;
    for (m = 0; m < desc->index_count; m++)
        if (kiln_mesh_index(mesh, m) >= desc->vertex_count) return KILN_VALUE;
    for (i = 0; i < mesh->lod_index_count; i++)
        if (mesh->lod_indices[i] >= desc->vertex_count) return KILN_VALUE;
    for (i = 0; i < mesh->meshlet_vertex_count; i++)
        if (mesh->meshlet_vertices[i] >= desc->vertex_count) return KILN_VALUE;
    for (m = 0; m < desc->meshlet_count; m++) {
        const kiln_meshlet *meshlet = &mesh->meshlets[m];
        uint32_t t;
        if (meshlet->vertex_offset != vertices || meshlet->triangle_offset != triangles) return KILN_VALUE;
        vertices += meshlet->vertex_count;
        triangles += meshlet->triangle_count;
        if (vertices > mesh->meshlet_vertex_count || triangles > mesh->meshlet_triangle_count) return KILN_VALUE;
        for (t = 0; t < meshlet->triangle_count; t++) {
            const uint8_t *corners = mesh->meshlet_triangles[meshlet->triangle_offset + t];
            if (corners[0] >= meshlet->vertex_count || corners[1] >= meshlet->vertex_count ||
                corners[2] >= meshlet->vertex_count)
                return KILN_VALUE;
        }
    }
    if (vertices != mesh->meshlet_vertex_count || triangles != mesh->meshlet_triangle_count) return KILN_VALUE;
    for (m = 0; m < mesh->cluster_count; m++) {
        const kiln_cluster *cluster = &mesh->clusters[m];
        kiln_cluster_geometry geometry = kiln_mesh_cluster_geometry(mesh, cluster);
        for (i = 0; i < cluster->vertex_count; i++)
            if (geometry.indices[i] >= desc->vertex_count) return KILN_VALUE;
        for (i = 0; i < cluster->triangle_count * (size_t)3; i++)
            if (geometry.triangles[i / 3][i % 3] >= cluster->vertex_count) return KILN_VALUE;
    }
    for (m = 0; mesh->skin && m < desc->vertex_count; m++)
        for (i = 0; i < 4; i++)
            if (mesh->skin[m].joints[i] >= mesh->joint_count) return KILN_VALUE;
    for (i = 0; i < mesh->morph_delta_count; i++)
        if (mesh->morph_deltas[i].vertex >= desc->vertex_count) return KILN_VALUE;
    return KILN_OK;
}

/* ---- Compressed .hmesh, version 3: decoded to version 2, then opened with kiln_mesh_open ---- */

/* Decodes records of `stride` bytes from a vertex stream of meshoptimizer. */
static inline kiln_status kiln_decode_vertices(kiln_bytes stream, size_t stride, uint8_t *out, size_t count) {
    static const uint8_t widths[3][4] = {{0, 2, 4, 8}, {0, 1, 2, 4}, {1, 2, 4, 8}};
    kiln_cursor in;
    uint8_t columns[4][256];
    const uint8_t *tail, *channels;
    uint32_t last[64];
    size_t block = 8192 / stride / 16 * 16, tail_size, padded, done, k, i, j;
    int version;
    in.at = stream.data, in.left = stream.size;
    if (in.left == 0) return KILN_TRUNCATED;
    if (*in.at != 0xa0 && *in.at != 0xa1) return KILN_VERSION;
    version = *kiln_take(&in, 1) & 1;
    tail_size = stride + (version ? stride / 4 : 0);
    padded = version ? 24 : 32;
    if (padded < tail_size) padded = tail_size;
    if (in.left < padded) return KILN_TRUNCATED;
    tail = in.at + in.left - tail_size, channels = tail + stride;
    for (k = 0; k < stride / 4; k++) last[k] = kiln_u32(tail + 4 * k);
    if (block > 256) block = 256;
    for (done = 0; done < count; done += block) {
        size_t rows = count - done < block ? count - done : block, groups = (rows + 15) / 16;
        const uint8_t *controls = kiln_take(&in, version ? stride / 4 : 0);
        if (!controls) return KILN_TRUNCATED;
        for (k = 0; k < stride / 4; k++) {
            int control = version ? controls[k] : 0, kind = version ? channels[k] : 0;
            for (i = 0; i < 4; i++) {
                int code = control >> (2 * i) & 3;
                const uint8_t *width = widths[version ? 1 + (code & 1) : 0], *header, *bytes;
                if (code == 2) {
                    memset(columns[i], 0, groups * 16);
                    continue;
                }
                if (code == 3) {
                    if (!(bytes = kiln_take(&in, rows))) return KILN_TRUNCATED;
                    memcpy(columns[i], bytes, rows);
                    continue;
                }
                if (!(header = kiln_take(&in, (groups + 3) / 4))) return KILN_TRUNCATED;
                for (j = 0; j < groups; j++) {
                    unsigned bits = width[header[j / 4] >> (j % 4 * 2) & 3], v;
                    uint8_t *group = columns[i] + j * 16;
                    if (in.left < 24) return KILN_TRUNCATED;
                    bytes = kiln_take(&in, 2 * bits);
                    if (bits == 0) memset(group, 0, 16);
                    if (bits == 8) memcpy(group, bytes, 16);
                    for (v = 0; bits > 0 && bits < 8 && v < 16; v++) {
                        unsigned shift = bits == 1 ? v % 8 : 8 - bits - v * bits % 8, most = (1u << bits) - 1;
                        group[v] = (uint8_t)(bytes[v * bits / 8] >> shift & most);
                        if (group[v] == most) group[v] = *kiln_take(&in, 1); /* at most 24 bytes in all */
                    }
                }
            }
            if ((kind & 3) == 3) return KILN_VALUE;
            for (j = 0; j < rows; j++) {
                uint32_t word = (uint32_t)columns[0][j] | (uint32_t)columns[1][j] << 8 | (uint32_t)columns[2][j] << 16 |
                                (uint32_t)columns[3][j] << 24;
                uint32_t high = (kind & 3) == 0 ? 0x80808080u : 0x80008000u, ones = high >> ((kind & 3) == 0 ? 7 : 15);
                if ((kind & 3) == 2) {
                    unsigned right = (unsigned)kind >> 4;
                    last[k] ^= word >> right | word << ((32 - right) & 31);
                } else {
                    /* The parts are zigzag differences; no carries between them. */
                    uint32_t sign = word & ones;
                    word = (word >> 1 & ~high) ^ ((sign << ((kind & 3) == 0 ? 8 : 16)) - sign);
                    last[k] = ((last[k] & ~high) + (word & ~high)) ^ ((last[k] ^ word) & high);
                }
                memcpy(out + (done + j) * stride + k * 4, &last[k], 4);
            }
        }
    }
    return in.left == padded ? KILN_OK : KILN_TRAILING;
}

/* Reads a number of up to five groups of seven bits; returns 0 at the end of the data. */
static inline int kiln_decode_number(kiln_cursor *in, uint32_t *number) {
    unsigned shift;
    *number = 0;
    for (shift = 0; shift < 35; shift += 7) {
        const uint8_t *byte = kiln_take(in, 1);
        if (!byte) return 0;
        *number |= (uint32_t)(*byte & 127) << shift;
        if (*byte < 128) break;
    }
    return 1;
}

/* Reads an index that is stored as the difference to the last such index. */
static inline int kiln_decode_index(kiln_cursor *in, uint32_t *last) {
    uint32_t number;
    if (!kiln_decode_number(in, &number)) return 0;
    *last += number >> 1 ^ (0u - (number & 1));
    return 1;
}

/* The last 16 edges and vertices of a triangle stream. */
typedef struct kiln_recent {
    uint32_t edges[16][2], vertices[16];
    unsigned next_edge, next_vertex;
} kiln_recent;

static inline void kiln_push_edge(kiln_recent *recent, uint32_t from, uint32_t to) {
    recent->edges[recent->next_edge & 15][0] = from;
    recent->edges[recent->next_edge++ & 15][1] = to;
}

static inline void kiln_push_vertex(kiln_recent *recent, uint32_t vertex, int is_new) {
    recent->vertices[recent->next_vertex & 15] = vertex;
    recent->next_vertex += (unsigned)is_new;
}

/* Writes an index of `width` bytes, 1, 2 or 4; returns 0 if it is larger. */
static inline int kiln_put_index(uint8_t *out, size_t width, uint32_t index) {
    memcpy(out, &index, width);
    return width == 4 || index >> (8 * width) == 0;
}

/* Decodes `count` indices of triangles. With `meshlets`, an index is a corner plus the first vertex of its meshlet. */
static inline kiln_status kiln_decode_triangles(kiln_bytes stream, size_t width, uint8_t *out, size_t count,
                                                const uint8_t *meshlets, size_t meshlet_count) {
    kiln_recent recent;
    kiln_cursor in;
    const uint8_t *codes, *table;
    uint32_t next = 0, last = 0, first = 0, left = 0;
    unsigned most_back;
    size_t i, c;
    in.at = stream.data, in.left = stream.size;
    if (stream.size < 17 || stream.size - 17 < count / 3) return KILN_TRUNCATED;
    if (*in.at != 0xe0 && *in.at != 0xe1) return KILN_VERSION;
    most_back = *kiln_take(&in, 1) == 0xe0 ? 15 : 13;
    codes = kiln_take(&in, count / 3);
    in.left -= 16, table = in.at + in.left;
    memset(&recent, 0xff, sizeof recent);
    recent.next_edge = recent.next_vertex = 0;
    for (i = 0; i < count / 3; i++) {
        uint32_t v[3];
        unsigned code = codes[i], k;
        if (code < 0xf0) {
            const uint32_t *edge = recent.edges[(recent.next_edge - 1 - (code >> 4)) & 15];
            v[0] = edge[0], v[1] = edge[1], k = code & 15;
            if (k < most_back) {
                v[2] = k == 0 ? next++ : recent.vertices[(recent.next_vertex - 1 - k) & 15];
                kiln_push_vertex(&recent, v[2], k == 0);
            } else {
                if (k == 13) last--;
                else if (k == 14) last++;
                else if (!kiln_decode_index(&in, &last)) return KILN_TRUNCATED;
                kiln_push_vertex(&recent, v[2] = last, 1);
            }
        } else {
            unsigned corner[3];
            const uint8_t *pair = code < 0xfe ? table + (code & 15) : kiln_take(&in, 1);
            if (!pair) return KILN_TRUNCATED;
            corner[0] = code == 0xff ? 15 : 0, corner[1] = *pair >> 4, corner[2] = *pair & 15;
            if (code >= 0xfe && *pair == 0) next = 0;
            for (c = 0; c < 3; c++)
                v[c] = corner[c] == 0 ? next++ : recent.vertices[(recent.next_vertex - corner[c]) & 15];
            for (c = 0; c < 3; c++) {
                if (corner[c] != 15) continue;
                if (!kiln_decode_index(&in, &last)) return KILN_TRUNCATED;
                v[c] = last;
            }
            for (c = 0; c < 3; c++) kiln_push_vertex(&recent, v[c], corner[c] == 0 || corner[c] == 15);
            kiln_push_edge(&recent, v[1], v[0]);
        }
        kiln_push_edge(&recent, v[2], v[1]);
        kiln_push_edge(&recent, v[0], v[2]);
        while (meshlets && left == 0) {
            if (meshlet_count-- == 0) return KILN_VALUE;
            first = kiln_u32(meshlets), left = kiln_u32(meshlets + 12);
            meshlets += sizeof(kiln_meshlet);
        }
        left--;
        for (c = 0; c < 3; c++)
            if (!kiln_put_index(out + (3 * i + c) * width, width, v[c] - first)) return KILN_VALUE;
    }
    return in.left == 0 ? KILN_OK : KILN_TRAILING;
}

static inline kiln_status kiln_decode_indices(kiln_bytes stream, size_t width, uint8_t *out, size_t count) {
    kiln_cursor in;
    uint32_t last[2] = {0, 0}, number;
    size_t i;
    in.at = stream.data, in.left = stream.size;
    if (in.left < 5) return KILN_TRUNCATED;
    if (*in.at != 0xd0 && *in.at != 0xd1) return KILN_VERSION;
    in.at++, in.left -= 5;
    for (i = 0; i < count; i++) {
        uint32_t *index;
        if (!kiln_decode_number(&in, &number)) return KILN_TRUNCATED;
        index = &last[number & 1], number >>= 1;
        *index += number >> 1 ^ (0u - (number & 1));
        if (!kiln_put_index(out + i * width, width, *index)) return KILN_VALUE;
    }
    return in.left == 0 ? KILN_OK : KILN_TRAILING;
}

/* A chunk of a compressed mesh: its payload, and its place in the decoded file. */
typedef struct kiln_mesh_stream {
    const uint8_t *tag;
    kiln_bytes payload; /* without the stream header, if it is encoded */
    uint32_t codec;     /* 0: stored, 1: vertices, 2: triangles, 3: indices, 4: triangles of meshlets */
    uint32_t count, stride;
    uint64_t offset, size; /* in the decoded file */
} kiln_mesh_stream;

/* Reads row `i` of the chunk table. `end` is the end of the chunk before it in the decoded file and in this one. */
static inline kiln_status kiln_mesh_stream_at(const uint8_t *file, size_t size, uint32_t i, uint64_t end[2],
                                              kiln_mesh_stream *stream) {
    const uint8_t *row = file + 32 + (size_t)i * 24;
    uint64_t offset = kiln_u64(row + 8), length = kiln_u64(row + 16);
    memset(stream, 0, sizeof *stream);
    if (offset != (end[1] + 15) / 16 * 16) return KILN_VALUE;
    if (offset > size || length > size - offset) return KILN_TRUNCATED;
    end[1] = offset + length;
    stream->tag = row, stream->codec = kiln_u32(row + 4);
    stream->payload.data = file + (size_t)offset, stream->payload.size = (size_t)length;
    stream->size = length;
    if (stream->codec) {
        int is_triangles = stream->codec == 2 || stream->codec == 4;
        if (stream->codec > 4 || (stream->codec == 4 && memcmp(row, "MLTR", 4) != 0)) return KILN_VALUE;
        if (length < 8) return KILN_TRUNCATED;
        stream->count = kiln_u32(stream->payload.data), stream->stride = kiln_u32(stream->payload.data + 4);
        stream->payload.data += 8, stream->payload.size -= 8;
        stream->size = (uint64_t)stream->count * stream->stride;
        if (stream->codec == 1 && (stream->stride == 0 || stream->stride > 256 || stream->stride % 4)) return KILN_VALUE;
        if (stream->codec == 4 && stream->stride != 1) return KILN_VALUE;
        if ((stream->codec == 2 || stream->codec == 3) && stream->stride != 2 && stream->stride != 4) return KILN_VALUE;
        if (is_triangles && stream->count % 3) return KILN_VALUE;
        /* Elements of vertices have no bytes where all are equal, a triangle and an index have at least one. */
        if (stream->codec == 1 && stream->size > stream->payload.size * UINT64_C(1024)) return KILN_VALUE;
        if (is_triangles && stream->count / 3 > stream->payload.size) return KILN_VALUE;
        if (stream->codec == 3 && stream->count > stream->payload.size) return KILN_VALUE;
    }
    stream->offset = (end[0] + 15) / 16 * 16;
    end[0] = stream->offset + stream->size;
    return KILN_OK;
}

/* Returns whether a file is a mesh of version 3, by its header. */
static inline int kiln_mesh_is_compressed(const void *data, size_t size) {
    const uint8_t *file = (const uint8_t *)data;
    return size >= 8 && memcmp(file, "HMSH", 4) == 0 && kiln_u32(file + 4) == 3;
}

/* Checks the chunk table of a compressed mesh; returns the size of the decoded file. Payloads follow one another in the
 * order of the table, as assetc writes them. */
static inline kiln_status kiln_mesh_decoded_size(const void *data, size_t size, uint64_t *decoded) {
    const uint8_t *file = (const uint8_t *)data;
    kiln_mesh_stream stream;
    uint64_t end[2];
    uint32_t count, i, codecs = 0, meshlet_triangles = 0;
    if (size < 32) return KILN_TRUNCATED;
    if (memcmp(file, "HMSH", 4) != 0) return KILN_MAGIC;
    if (kiln_u32(file + 4) != 3) return KILN_VERSION;
    count = kiln_u32(file + 8);
    if (count > 256 || kiln_u32(file + 12) || kiln_u64(file + 16) || kiln_u64(file + 24)) return KILN_VALUE;
    if ((size - 32) / 24 < count) return KILN_TRUNCATED;
    end[0] = end[1] = 32 + (uint64_t)count * 24;
    for (i = 0; i < count; i++) {
        kiln_status status = kiln_mesh_stream_at(file, size, i, end, &stream);
        if (status != KILN_OK) return status;
        codecs |= stream.codec;
        meshlet_triangles += stream.codec == 4;
    }
    /* A mesh without encoded chunks is of version 2. Only one chunk has the triangles of meshlets. */
    if (codecs == 0 || meshlet_triangles > 1) return KILN_VALUE;
    *decoded = end[0];
    return end[1] == size ? KILN_OK : KILN_TRAILING;
}

/* Decodes a compressed mesh to one of version 2, into a buffer of exactly kiln_mesh_decoded_size bytes, whose address
 * must be a multiple of 16 for kiln_mesh_open. */
static inline kiln_status kiln_mesh_decode(const void *data, size_t size, void *out, size_t out_size) {
    const uint8_t *file = (const uint8_t *)data;
    uint8_t *to = (uint8_t *)out;
    const uint32_t version = 2, zero = 0;
    kiln_mesh_stream stream, meshlets, triangles;
    uint64_t decoded, end[2];
    uint32_t count, i;
    kiln_status status = kiln_mesh_decoded_size(data, size, &decoded);
    if (status != KILN_OK) return status;
    if (out_size != decoded) return KILN_TRUNCATED;
    count = kiln_u32(file + 8);
    memset(&meshlets, 0, sizeof meshlets);
    memset(&triangles, 0, sizeof triangles);
    memcpy(to, file, 32);
    memcpy(to + 4, &version, 4);
    end[0] = end[1] = 32 + (uint64_t)count * 24;
    for (i = 0; i < count; i++) {
        uint64_t start = end[0];
        uint8_t *row = to + 32 + (size_t)i * 24, *place;
        kiln_mesh_stream_at(file, size, i, end, &stream);
        place = to + (size_t)stream.offset;
        memcpy(row, stream.tag, 4);
        memcpy(row + 4, &zero, 4);
        memcpy(row + 8, &stream.offset, 8);
        memcpy(row + 16, &stream.size, 8);
        memset(to + (size_t)start, 0, (size_t)(stream.offset - start));
        if (memcmp(stream.tag, "MLET", 4) == 0) meshlets = stream;
        if (stream.codec == 0 && stream.size) memcpy(place, stream.payload.data, (size_t)stream.size);
        if (stream.codec == 1) status = kiln_decode_vertices(stream.payload, stream.stride, place, stream.count);
        if (stream.codec == 2) status = kiln_decode_triangles(stream.payload, stream.stride, place, stream.count, NULL, 0);
        if (stream.codec == 3) status = kiln_decode_indices(stream.payload, stream.stride, place, stream.count);
        if (stream.codec == 4) triangles = stream; /* these need the meshlets, which may follow */
        if (status != KILN_OK) return status;
    }
    if (!triangles.tag) return KILN_OK;
    if (!meshlets.tag) return KILN_MISSING;
    return kiln_decode_triangles(triangles.payload, 1, to + (size_t)triangles.offset, triangles.count,
                                 to + (size_t)meshlets.offset, (size_t)(meshlets.size / sizeof(kiln_meshlet)));
}

/* ---- .hmat: one row per material slot of the companion mesh ---- */

typedef struct kiln_material {
    float base_color_factor[4], emissive_factor[3];
    float metallic_factor, roughness_factor, normal_scale, occlusion_strength, alpha_cutoff;
    uint32_t flags; /* bit 0: double-sided; bits 1 and 2: the alpha mode */
    uint32_t pad;
    uint64_t base_color_tex, metallic_roughness_tex, normal_tex, occlusion_tex, emissive_tex; /* 0: none */
} kiln_material;

typedef enum kiln_alpha_mode { KILN_ALPHA_OPAQUE = 0, KILN_ALPHA_MASK = 1, KILN_ALPHA_BLEND = 2 } kiln_alpha_mode;

static inline int kiln_material_double_sided(const kiln_material *material) { return (int)(material->flags & 1); }
static inline kiln_alpha_mode kiln_material_alpha_mode(const kiln_material *material) {
    return (kiln_alpha_mode)(material->flags >> 1 & 3);
}

typedef struct kiln_materials {
    const kiln_material *rows;
    uint32_t count;
} kiln_materials;

static inline kiln_status kiln_materials_open(const void *data, size_t size, kiln_materials *materials) {
    kiln_cursor cursor;
    const uint8_t *header, *rows;
    uint32_t i;
    cursor.at = (const uint8_t *)data, cursor.left = size;
    if (!kiln_aligned(data)) return KILN_UNALIGNED;
    if (!(header = kiln_take(&cursor, 16))) return KILN_TRUNCATED;
    if (memcmp(header, "HMAT", 4) != 0) return KILN_MAGIC;
    if (kiln_u32(header + 4) != 1) return KILN_VERSION;
    if (kiln_u32(header + 12) != 0) return KILN_VALUE;
    materials->count = kiln_u32(header + 8);
    if (!(rows = kiln_take(&cursor, (uint64_t)materials->count * sizeof(kiln_material)))) return KILN_TRUNCATED;
    if (cursor.left != 0) return KILN_TRAILING;
    materials->rows = (const kiln_material *)(const void *)rows;
    for (i = 0; i < materials->count; i++) {
        const kiln_material *row = &materials->rows[i];
        float single[5];
        single[0] = row->metallic_factor, single[1] = row->roughness_factor, single[2] = row->normal_scale;
        single[3] = row->occlusion_strength, single[4] = row->alpha_cutoff;
        if (!kiln_finite(row->base_color_factor, 4) || !kiln_finite(row->emissive_factor, 3)) return KILN_VALUE;
        if (!kiln_finite(single, 5) || row->flags >> 1 > KILN_ALPHA_BLEND || row->pad != 0) return KILN_VALUE;
    }
    return KILN_OK;
}

/* ---- .hanim: clips for the skeleton of the companion mesh ---- */

typedef enum kiln_anim_path { KILN_TRANSLATION = 0, KILN_ROTATION = 1, KILN_SCALE = 2 } kiln_anim_path;
typedef enum kiln_interp { KILN_STEP = 0, KILN_LINEAR = 1 } kiln_interp;

typedef struct kiln_animation {
    uint32_t clip_count;
    kiln_cursor clips;
} kiln_animation;

typedef struct kiln_clip {
    kiln_text name;
    float duration;
    uint32_t channel_count;
    kiln_cursor channels;
} kiln_clip;

typedef struct kiln_channel {
    uint32_t joint;
    kiln_anim_path path;
    kiln_interp interp;
    uint32_t key_count;
    uint32_t components; /* 3, or 4 for rotations */
    const uint8_t *keys; /* per key a time, then the components; unaligned, so use kiln_channel_key */
} kiln_channel;

static inline kiln_status kiln_channel_record(kiln_cursor *cursor, kiln_channel *channel) {
    const uint8_t *record = kiln_take(cursor, 12);
    if (!record) return KILN_TRUNCATED;
    if (record[4] > KILN_SCALE || record[5] > KILN_LINEAR) return KILN_VALUE;
    channel->joint = kiln_u32(record);
    channel->path = (kiln_anim_path)record[4];
    channel->interp = (kiln_interp)record[5];
    channel->components = channel->path == KILN_ROTATION ? 4 : 3;
    channel->key_count = kiln_u32(record + 8);
    if (record[6] != channel->components || record[7] != 0 || channel->key_count == 0) return KILN_VALUE;
    channel->keys = kiln_take(cursor, (uint64_t)channel->key_count * 4 * (1 + channel->components));
    return channel->keys ? KILN_OK : KILN_TRUNCATED;
}

static inline kiln_status kiln_clip_record(kiln_cursor *cursor, kiln_clip *clip) {
    const uint8_t *record = kiln_take(cursor, 2);
    if (!record) return KILN_TRUNCATED;
    clip->name.size = kiln_u16(record);
    clip->name.data = (const char *)kiln_take(cursor, clip->name.size);
    if (!clip->name.data) return KILN_TRUNCATED;
    if (!kiln_text_is_good(clip->name, 0)) return KILN_PATH;
    if (!(record = kiln_take(cursor, 8))) return KILN_TRUNCATED;
    clip->duration = kiln_f32(record);
    clip->channel_count = kiln_u32(record + 4);
    clip->channels = *cursor;
    return KILN_OK;
}

/* Reads time and value of key `i`, which must be below key_count; `value` has room for `components` floats. */
static inline float kiln_channel_key(const kiln_channel *channel, uint32_t i, float *value) {
    const uint8_t *key = channel->keys + (size_t)i * 4 * (1 + channel->components);
    memcpy(value, key + 4, 4 * (size_t)channel->components);
    return kiln_f32(key);
}

static inline kiln_status kiln_animation_open(const void *data, size_t size, kiln_animation *animation) {
    kiln_cursor cursor;
    const uint8_t *header;
    uint32_t c, i, k;
    cursor.at = (const uint8_t *)data, cursor.left = size;
    if (!(header = kiln_take(&cursor, 16))) return KILN_TRUNCATED;
    if (memcmp(header, "HANM", 4) != 0) return KILN_MAGIC;
    if (kiln_u32(header + 4) != 1) return KILN_VERSION;
    if (kiln_u32(header + 12) != 0) return KILN_VALUE;
    animation->clip_count = kiln_u32(header + 8);
    animation->clips = cursor;
    for (c = 0; c < animation->clip_count; c++) {
        kiln_clip clip;
        float last = 0;
        kiln_status status = kiln_clip_record(&cursor, &clip);
        for (i = 0; status == KILN_OK && i < clip.channel_count; i++) {
            kiln_channel channel;
            float before = 0;
            status = kiln_channel_record(&cursor, &channel);
            for (k = 0; status == KILN_OK && k < channel.key_count; k++) {
                float value[4], time = kiln_channel_key(&channel, k, value);
                if (!kiln_finite(&time, 1) || !kiln_finite(value, channel.components)) status = KILN_VALUE;
                else if (time < 0 || (k > 0 && time <= before)) status = KILN_ORDER;
                before = time;
            }
            if (before > last) last = before;
        }
        if (status != KILN_OK) return status;
        /* Compares the bits: a duration of -0 is rejected. */
        if (memcmp(&clip.duration, &last, sizeof last) != 0) return KILN_VALUE;
    }
    return cursor.left == 0 ? KILN_OK : KILN_TRAILING;
}

/* Iterates over the channels of a clip. Start with `*cursor = clip->channels`, and call it at most channel_count times. */
static inline int kiln_channel_next(kiln_cursor *cursor, kiln_channel *channel) {
    return kiln_channel_record(cursor, channel) == KILN_OK;
}

/* Iterates over the clips. Start with `*cursor = animation->clips`; returns 0 after the last. */
static inline int kiln_clip_next(kiln_cursor *cursor, kiln_clip *clip) {
    kiln_channel channel;
    uint32_t i;
    if (cursor->left == 0 || kiln_clip_record(cursor, clip) != KILN_OK) return 0;
    for (i = 0; i < clip->channel_count; i++)
        if (!kiln_channel_next(cursor, &channel)) return 0;
    return 1;
}

/* ---- Tables of records in chunks: .hscn and .hmatx ---- */

/* A string: a range of the text of a file. */
typedef struct kiln_text_range {
    uint32_t offset, size;
} kiln_text_range;

/* A chunk of one kind of record. The last table of a format is its text. */
typedef struct kiln_table {
    char tag[5];
    uint8_t record;
    const uint8_t *data; /* NULL if the chunk is absent */
    uint32_t count;
} kiln_table;

/* Finds the chunks of a file and checks that they have whole records, and that the text is UTF-8. */
static inline kiln_status kiln_tables_open(const void *data, size_t size, const char *magic, kiln_table *tables, int count) {
    const uint8_t *file = (const uint8_t *)data, *header, *entries;
    kiln_cursor cursor;
    kiln_text text;
    uint32_t chunks, i;
    int id;
    cursor.at = file, cursor.left = size;
    if (!kiln_aligned(data)) return KILN_UNALIGNED;
    if (!(header = kiln_take(&cursor, 32))) return KILN_TRUNCATED;
    if (memcmp(header, magic, 4) != 0) return KILN_MAGIC;
    if (kiln_u32(header + 4) != 1) return KILN_VERSION;
    if (kiln_u32(header + 12) != 0 || kiln_u64(header + 16) != 0 || kiln_u64(header + 24) != 0) return KILN_VALUE;
    chunks = kiln_u32(header + 8);
    if (chunks > 256) return KILN_VALUE;
    if (!(entries = kiln_take(&cursor, (uint64_t)chunks * 24))) return KILN_TRUNCATED;
    for (i = 0; i < chunks; i++) {
        const uint8_t *entry = entries + i * 24;
        uint64_t offset = kiln_u64(entry + 8), length = kiln_u64(entry + 16);
        if (offset % 16 != 0) return KILN_VALUE;
        if (offset < 32 + (uint64_t)chunks * 24 || offset > size || length > size - offset) return KILN_TRUNCATED;
        for (id = 0; id < count; id++) {
            if (memcmp(entry, tables[id].tag, 4) != 0) continue;
            if (kiln_u32(entry + 4) != 0) return KILN_VALUE;
            if (tables[id].data) return KILN_MISSING;
            if (length % tables[id].record != 0 || length / tables[id].record > UINT32_MAX) return KILN_VALUE;
            tables[id].data = file + (size_t)offset;
            tables[id].count = (uint32_t)(length / tables[id].record);
        }
    }
    text.data = (const char *)tables[count - 1].data, text.size = tables[count - 1].count;
    return kiln_text_is_good(text, 0) ? KILN_OK : KILN_PATH;
}

/* Checks the next string: strings follow one another, and end between characters. */
static inline kiln_status kiln_check_text(kiln_text text, uint32_t *end, kiln_text_range range) {
    if (range.size == 0) return range.offset == 0 ? KILN_OK : KILN_VALUE;
    if (range.offset != *end) return KILN_VALUE;
    if (range.size > text.size - *end) return KILN_TRUNCATED;
    *end += range.size;
    return *end < text.size && ((uint8_t)text.data[*end] & 0xc0) == 0x80 ? KILN_PATH : KILN_OK;
}

static inline kiln_text kiln_text_of(kiln_text text, kiln_text_range range) {
    kiln_text found = {"", 0};
    if (range.size != 0) found.data = text.data + range.offset, found.size = range.size;
    return found;
}

/* ---- .hmatx: material extensions, one row per row of the companion .hmat ---- */

/* The bits of kiln_material_extension.flags. */
enum {
    KILN_UNLIT = 1, KILN_TRANSMISSION = 2, KILN_CLEARCOAT = 4, KILN_VOLUME = 8, KILN_SHEEN = 16, KILN_SPECULAR = 32,
    KILN_IRIDESCENCE = 64, KILN_ANISOTROPY = 128
};

typedef struct kiln_material_extension {
    kiln_text_range name, extras;
    uint32_t flags;
    float emissive_strength, ior, dispersion, transmission_factor;
    float clearcoat_factor, clearcoat_roughness_factor, clearcoat_normal_scale;
    float thickness_factor, attenuation_distance, attenuation_color[3]; /* a distance of 0: no absorption */
    float sheen_color_factor[3], sheen_roughness_factor;
    float specular_factor, specular_color_factor[3];
    float iridescence_factor, iridescence_ior, iridescence_thickness_minimum, iridescence_thickness_maximum;
    float anisotropy_strength, anisotropy_rotation;
    uint32_t first_texture, texture_count;
} kiln_material_extension;

typedef struct kiln_material_texture {
    uint64_t texture; /* the hash of the reference, as in the .hmat */
    uint8_t slot, mag_filter, min_filter, mip_filter, wrap_u, wrap_v;
    uint16_t reserved;
    uint32_t uv_set;
    float transform[6]; /* two rows: u' = a u + b v + c, v' = d u + e v + f */
    uint32_t pad;
} kiln_material_texture;

typedef struct kiln_material_extensions {
    const kiln_material_extension *rows;
    uint32_t count, texture_count;
    const kiln_material_texture *textures; /* by ascending slot in each row */
    kiln_text text;
} kiln_material_extensions;

static inline kiln_status kiln_material_extensions_open(const void *data, size_t size, kiln_material_extensions *table) {
    kiln_table tables[3] = {
        {"MATX", sizeof(kiln_material_extension), NULL, 0}, {"TEXU", sizeof(kiln_material_texture), NULL, 0}, {"TEXT", 1, NULL, 0}};
    kiln_status status = kiln_tables_open(data, size, "HMTX", tables, 3);
    uint32_t i, k, text = 0, textures = 0;
    if (status != KILN_OK) return status;
    table->rows = (const kiln_material_extension *)(const void *)tables[0].data, table->count = tables[0].count;
    table->textures = (const kiln_material_texture *)(const void *)tables[1].data, table->texture_count = tables[1].count;
    table->text.data = (const char *)tables[2].data, table->text.size = tables[2].count;
    for (i = 0; i < table->count; i++) {
        const kiln_material_extension *row = &table->rows[i];
        float numbers[26];
        if ((status = kiln_check_text(table->text, &text, row->name)) != KILN_OK) return status;
        if ((status = kiln_check_text(table->text, &text, row->extras)) != KILN_OK) return status;
        memcpy(numbers, tables[0].data + i * sizeof *row + offsetof(kiln_material_extension, emissive_strength), sizeof numbers);
        if (row->flags > 255 || !kiln_finite(numbers, 26)) return KILN_VALUE;
        if (row->first_texture != textures || row->texture_count > table->texture_count - textures) return KILN_VALUE;
        for (k = 0; k < row->texture_count; k++) {
            const kiln_material_texture *texture = &table->textures[textures + k];
            if (texture->slot > 16 || texture->mag_filter > 1 || texture->min_filter > 1 || texture->mip_filter > 2) return KILN_VALUE;
            if (texture->wrap_u > 2 || texture->wrap_v > 2 || texture->reserved != 0 || texture->pad != 0) return KILN_VALUE;
            if (k != 0 && texture->slot <= texture[-1].slot) return KILN_ORDER;
            if (!kiln_finite(texture->transform, 6)) return KILN_VALUE;
        }
        textures += row->texture_count;
    }
    return textures == table->texture_count && text == table->text.size ? KILN_OK : KILN_TRAILING;
}

/* ---- .hscn: the scene of the source ---- */

typedef struct kiln_scene_info {
    kiln_text_range name, extras, document_extras;
} kiln_scene_info;

typedef struct kiln_scene_transform {
    float translation[3], rotation[4], scale[3];
} kiln_scene_transform;

/* Indices are -1 where there is no such object. A node comes after its parent. */
typedef struct kiln_scene_node {
    kiln_text_range name, extras;
    int32_t parent, mesh, skin, camera, light, matrix;
    uint32_t flags; /* bit 0: drawn */
    uint32_t first_submesh, submesh_count, first_instance, instance_count, first_weight, weight_count;
    kiln_scene_transform transform;
} kiln_scene_node;

typedef struct kiln_scene_mesh {
    kiln_text_range name, extras;
    uint32_t first_weight, weight_count;
} kiln_scene_mesh;

typedef struct kiln_scene_skin {
    kiln_text_range name, extras;
    uint32_t first_joint, joint_count;
} kiln_scene_skin;

typedef struct kiln_scene_joint {
    uint32_t node;
    float inverse_bind[16];
} kiln_scene_joint;

typedef enum kiln_camera_kind { KILN_PERSPECTIVE = 0, KILN_ORTHOGRAPHIC = 1 } kiln_camera_kind;

/* Perspective: x is the aspect ratio (0: that of the window), y the vertical field of view, z_far 0 if infinite.
 * Orthographic: x and y are half of the width and of the height. */
typedef struct kiln_scene_camera {
    kiln_text_range name, extras;
    uint32_t kind;
    float x, y, z_near, z_far;
} kiln_scene_camera;

typedef enum kiln_light_kind { KILN_DIRECTIONAL_LIGHT = 0, KILN_POINT_LIGHT = 1, KILN_SPOT_LIGHT = 2 } kiln_light_kind;

typedef struct kiln_scene_light {
    kiln_text_range name, extras;
    uint32_t kind;
    float color[3], intensity, range; /* a range of 0: no end */
    float inner_cone_angle, outer_cone_angle;
} kiln_scene_light;

typedef struct kiln_scene_clip {
    kiln_text_range name, extras;
    float duration;
    uint32_t first_channel, channel_count;
} kiln_scene_clip;

enum { KILN_WEIGHTS = 3 };      /* the path of morph target weights, after those of kiln_anim_path */
enum { KILN_CUBIC_SPLINE = 2 }; /* each key has an in-tangent, a value and an out-tangent */

typedef struct kiln_scene_channel {
    uint32_t node;
    uint8_t path, interpolation;
    uint16_t reserved;
    uint32_t components, key_count, first_time, first_value;
} kiln_scene_channel;

/* Absent arrays are NULL with a count of 0. */
typedef struct kiln_scene {
    kiln_scene_info info;
    const kiln_scene_node *nodes;
    const kiln_scene_mesh *meshes;
    const kiln_scene_skin *skins;
    const kiln_scene_joint *joints;
    const kiln_scene_camera *cameras;
    const kiln_scene_light *lights;
    const kiln_scene_transform *instances;
    const float (*matrices)[16];
    const float *weights;
    const kiln_scene_clip *clips;
    const kiln_scene_channel *channels;
    const float *times, *values;
    uint32_t node_count, mesh_count, skin_count, joint_count, camera_count, light_count, instance_count, matrix_count;
    uint32_t weight_count, clip_count, channel_count, time_count, value_count;
    kiln_text text;
} kiln_scene;

static inline int kiln_scene_index(int32_t index, uint32_t count) { return index == -1 || (uint32_t)index < count; }
static inline int kiln_scene_range(uint32_t first, uint32_t size, uint32_t count) { return first <= count && size <= count - first; }

/* Returns the numbers of a channel's values: those of all keys, with tangents. */
static inline uint64_t kiln_channel_values(const kiln_scene_channel *channel) {
    uint64_t keys = (uint64_t)channel->key_count * (channel->interpolation == KILN_CUBIC_SPLINE ? 3 : 1);
    return channel->components != 0 && keys > UINT32_MAX / channel->components ? UINT64_MAX : keys * channel->components;
}

/* Returns the morph target weights of a node: its own, or those of its mesh. */
static inline const float *kiln_scene_weights(const kiln_scene *scene, const kiln_scene_node *node, uint32_t *count) {
    uint32_t first = node->first_weight;
    *count = node->weight_count;
    if (*count == 0 && node->mesh >= 0) first = scene->meshes[node->mesh].first_weight, *count = scene->meshes[node->mesh].weight_count;
    return *count ? scene->weights + first : NULL;
}

static inline kiln_status kiln_check_scene_node(const kiln_scene *scene, uint32_t i) {
    const kiln_scene_node *node = &scene->nodes[i];
    const kiln_scene_transform *transform = &node->transform;
    if (!kiln_scene_index(node->parent, i) || !kiln_scene_index(node->mesh, scene->mesh_count)) return KILN_VALUE;
    if (!kiln_scene_index(node->skin, scene->skin_count) || !kiln_scene_index(node->camera, scene->camera_count)) return KILN_VALUE;
    if (!kiln_scene_index(node->light, scene->light_count) || !kiln_scene_index(node->matrix, scene->matrix_count)) return KILN_VALUE;
    if (node->flags > 1 || !kiln_scene_range(node->first_instance, node->instance_count, scene->instance_count)) return KILN_VALUE;
    if (!kiln_scene_range(node->first_weight, node->weight_count, scene->weight_count)) return KILN_VALUE;
    if (node->weight_count != 0 && (node->mesh < 0 || scene->meshes[node->mesh].weight_count != node->weight_count)) return KILN_VALUE;
    if (!kiln_finite(transform->translation, 3) || !kiln_finite(transform->rotation, 4)) return KILN_VALUE;
    return kiln_finite(transform->scale, 3) ? KILN_OK : KILN_VALUE;
}

/* Checks that channels cover the times and the values, and that clips last as long as their channels. */
static inline kiln_status kiln_check_scene_clips(const kiln_scene *scene) {
    uint32_t i, c, k, channels = 0, times = 0, values = 0;
    for (i = 0; i < scene->clip_count; i++) {
        const kiln_scene_clip *clip = &scene->clips[i];
        float last = 0.0f;
        if (clip->first_channel != channels || clip->channel_count > scene->channel_count - channels) return KILN_VALUE;
        for (c = channels; c < channels + clip->channel_count; c++) {
            const kiln_scene_channel *channel = &scene->channels[c];
            uint64_t size = kiln_channel_values(channel);
            if (channel->node >= scene->node_count || channel->path > 3 || channel->interpolation > 2) return KILN_VALUE;
            if (channel->reserved != 0 || channel->key_count == 0 || channel->components == 0) return KILN_VALUE;
            if (channel->path != KILN_WEIGHTS && channel->components != (channel->path == KILN_ROTATION ? 4u : 3u)) return KILN_VALUE;
            if (c == 0 || channel->first_time != channel[-1].first_time || channel->key_count != channel[-1].key_count) {
                if (channel->first_time != times || channel->key_count > scene->time_count - times) return KILN_VALUE;
                for (k = 1; k < channel->key_count; k++)
                    if (scene->times[times + k - 1] > scene->times[times + k]) return KILN_ORDER;
                times += channel->key_count;
            }
            if (channel->first_value != values || size > scene->value_count - values) return KILN_VALUE;
            values += (uint32_t)size;
            if (scene->times[channel->first_time + channel->key_count - 1] > last)
                last = scene->times[channel->first_time + channel->key_count - 1];
        }
        channels += clip->channel_count;
        if (memcmp(&last, &clip->duration, sizeof last) != 0) return KILN_VALUE;
    }
    return channels == scene->channel_count && times == scene->time_count && values == scene->value_count ? KILN_OK : KILN_TRAILING;
}

static inline kiln_status kiln_scene_open(const void *data, size_t size, kiln_scene *scene) {
    enum { SCEN, NODE, MESH, SKIN, JNTS, CAMR, LGHT, INST, MTRX, WGHT, CLIP, CHAN, TIME, VALU, TEXT, TABLES };
    kiln_table tables[TABLES] = {
        {"SCEN", sizeof(kiln_scene_info), NULL, 0},   {"NODE", sizeof(kiln_scene_node), NULL, 0},
        {"MESH", sizeof(kiln_scene_mesh), NULL, 0},   {"SKIN", sizeof(kiln_scene_skin), NULL, 0},
        {"JNTS", sizeof(kiln_scene_joint), NULL, 0},  {"CAMR", sizeof(kiln_scene_camera), NULL, 0},
        {"LGHT", sizeof(kiln_scene_light), NULL, 0},  {"INST", sizeof(kiln_scene_transform), NULL, 0},
        {"MTRX", 64, NULL, 0},                        {"WGHT", 4, NULL, 0},
        {"CLIP", sizeof(kiln_scene_clip), NULL, 0},   {"CHAN", sizeof(kiln_scene_channel), NULL, 0},
        {"TIME", 4, NULL, 0}, {"VALU", 4, NULL, 0},   {"TEXT", 1, NULL, 0}};
    /* The tables whose records start with a name and extras, in the order of their strings. */
    static const uint8_t labelled[] = {SCEN, NODE, MESH, SKIN, CAMR, LGHT, CLIP};
    kiln_status status;
    uint32_t i, k, text = 0, used = 0;
    memset(scene, 0, sizeof *scene);
    if ((status = kiln_tables_open(data, size, "HSCN", tables, TABLES)) != KILN_OK) return status;
    if (tables[SCEN].count == 0) return KILN_MISSING;
    if (tables[SCEN].count != 1) return KILN_VALUE;
    memcpy(&scene->info, tables[SCEN].data, sizeof scene->info);
    scene->nodes = (const kiln_scene_node *)(const void *)tables[NODE].data, scene->node_count = tables[NODE].count;
    scene->meshes = (const kiln_scene_mesh *)(const void *)tables[MESH].data, scene->mesh_count = tables[MESH].count;
    scene->skins = (const kiln_scene_skin *)(const void *)tables[SKIN].data, scene->skin_count = tables[SKIN].count;
    scene->joints = (const kiln_scene_joint *)(const void *)tables[JNTS].data, scene->joint_count = tables[JNTS].count;
    scene->cameras = (const kiln_scene_camera *)(const void *)tables[CAMR].data, scene->camera_count = tables[CAMR].count;
    scene->lights = (const kiln_scene_light *)(const void *)tables[LGHT].data, scene->light_count = tables[LGHT].count;
    scene->instances = (const kiln_scene_transform *)(const void *)tables[INST].data, scene->instance_count = tables[INST].count;
    scene->matrices = (const float(*)[16])(const void *)tables[MTRX].data, scene->matrix_count = tables[MTRX].count;
    scene->weights = (const float *)(const void *)tables[WGHT].data, scene->weight_count = tables[WGHT].count;
    scene->clips = (const kiln_scene_clip *)(const void *)tables[CLIP].data, scene->clip_count = tables[CLIP].count;
    scene->channels = (const kiln_scene_channel *)(const void *)tables[CHAN].data, scene->channel_count = tables[CHAN].count;
    scene->times = (const float *)(const void *)tables[TIME].data, scene->time_count = tables[TIME].count;
    scene->values = (const float *)(const void *)tables[VALU].data, scene->value_count = tables[VALU].count;
    scene->text.data = (const char *)tables[TEXT].data, scene->text.size = tables[TEXT].count;
    for (k = 0; k < sizeof labelled; k++) {
        const kiln_table *table = &tables[labelled[k]];
        for (i = 0; i < table->count; i++) {
            kiln_text_range ranges[3];
            memcpy(ranges, table->data + (size_t)i * table->record, sizeof ranges);
            if ((status = kiln_check_text(scene->text, &text, ranges[0])) != KILN_OK) return status;
            if ((status = kiln_check_text(scene->text, &text, ranges[1])) != KILN_OK) return status;
            if (k == 0 && (status = kiln_check_text(scene->text, &text, ranges[2])) != KILN_OK) return status;
        }
    }
    if (text != scene->text.size) return KILN_TRAILING;
    for (i = 0; i < scene->node_count; i++) {
        if ((status = kiln_check_scene_node(scene, i)) != KILN_OK) return status;
        k = scene->nodes[i].weight_count ? scene->nodes[i].first_weight + scene->nodes[i].weight_count : 0;
        used = k > used ? k : used;
    }
    for (i = 0; i < scene->mesh_count; i++) {
        const kiln_scene_mesh *mesh = &scene->meshes[i];
        if (!kiln_scene_range(mesh->first_weight, mesh->weight_count, scene->weight_count)) return KILN_VALUE;
        k = mesh->weight_count ? mesh->first_weight + mesh->weight_count : 0;
        used = k > used ? k : used;
    }
    if (used != scene->weight_count) return KILN_TRAILING;
    for (i = 0; i < scene->skin_count; i++)
        if (!kiln_scene_range(scene->skins[i].first_joint, scene->skins[i].joint_count, scene->joint_count)) return KILN_VALUE;
    for (i = 0; i < scene->joint_count; i++)
        if (scene->joints[i].node >= scene->node_count || !kiln_finite(scene->joints[i].inverse_bind, 16)) return KILN_VALUE;
    for (i = 0; i < scene->camera_count; i++) {
        float numbers[4];
        memcpy(numbers, tables[CAMR].data + i * sizeof *scene->cameras + offsetof(kiln_scene_camera, x), sizeof numbers);
        if (scene->cameras[i].kind > KILN_ORTHOGRAPHIC || !kiln_finite(numbers, 4)) return KILN_VALUE;
    }
    for (i = 0; i < scene->light_count; i++) {
        float numbers[7];
        memcpy(numbers, tables[LGHT].data + i * sizeof *scene->lights + offsetof(kiln_scene_light, color), sizeof numbers);
        if (scene->lights[i].kind > KILN_SPOT_LIGHT || !kiln_finite(numbers, 7)) return KILN_VALUE;
    }
    if (!kiln_finite((const float *)(const void *)tables[INST].data, (size_t)scene->instance_count * 10)) return KILN_VALUE;
    if (!kiln_finite((const float *)(const void *)tables[MTRX].data, (size_t)scene->matrix_count * 16)) return KILN_VALUE;
    if (!kiln_finite(scene->weights, scene->weight_count) || !kiln_finite(scene->times, scene->time_count)) return KILN_VALUE;
    if (!kiln_finite(scene->values, scene->value_count)) return KILN_VALUE;
    return kiln_check_scene_clips(scene);
}

/* ---- .hfont: glyph quads and kerning of a font with an SDF or MSDF atlas ---- */

typedef struct kiln_glyph {
    uint32_t codepoint;
    float advance;
    float plane[4]; /* left, bottom, right, top relative to the pen position, in em, y up */
    float uv[4];    /* left, top, right, bottom in the atlas */
} kiln_glyph;

typedef struct kiln_pair {
    uint32_t left, right;
    float advance;
} kiln_pair;

typedef struct kiln_font {
    uint64_t atlas_tex;
    float ascent, descent, line_gap, distance_range, edge_value;
    uint16_t atlas_width, atlas_height;
    uint32_t flags; /* bit 0: MSDF atlas (three distances in red, green and blue) */
    const kiln_glyph *glyphs;
    uint32_t glyph_count;
    const kiln_pair *pairs;
    uint32_t pair_count;
} kiln_font;

static inline int kiln_within(float low, float number, float high) { return number >= low && number <= high; }

static inline kiln_status kiln_font_open(const void *data, size_t size, kiln_font *font) {
    kiln_cursor cursor;
    const uint8_t *header, *glyphs, *pairs;
    float numbers[5];
    uint32_t i;
    cursor.at = (const uint8_t *)data, cursor.left = size;
    if (!kiln_aligned(data)) return KILN_UNALIGNED;
    if (!(header = kiln_take(&cursor, 52))) return KILN_TRUNCATED;
    if (memcmp(header, "HFNT", 4) != 0) return KILN_MAGIC;
    if (kiln_u32(header + 4) != 1) return KILN_VERSION;
    font->glyph_count = kiln_u32(header + 8);
    font->pair_count = kiln_u32(header + 12);
    font->atlas_tex = kiln_u64(header + 16);
    memcpy(numbers, header + 24, sizeof numbers);
    font->ascent = numbers[0], font->descent = numbers[1], font->line_gap = numbers[2];
    font->distance_range = numbers[3], font->edge_value = numbers[4];
    font->atlas_width = kiln_u16(header + 44), font->atlas_height = kiln_u16(header + 46);
    font->flags = kiln_u32(header + 48);
    if (font->glyph_count == 0 || !kiln_finite(numbers, 5) || font->distance_range <= 0) return KILN_VALUE;
    if (!kiln_within(0, font->edge_value, 1) || !font->atlas_width || !font->atlas_height || font->flags > 1)
        return KILN_VALUE;
    if (!(glyphs = kiln_take(&cursor, (uint64_t)font->glyph_count * sizeof(kiln_glyph)))) return KILN_TRUNCATED;
    if (!(pairs = kiln_take(&cursor, (uint64_t)font->pair_count * sizeof(kiln_pair)))) return KILN_TRUNCATED;
    if (cursor.left != 0) return KILN_TRAILING;
    font->glyphs = (const kiln_glyph *)(const void *)glyphs;
    font->pairs = (const kiln_pair *)(const void *)pairs;
    for (i = 0; i < font->glyph_count; i++) {
        const kiln_glyph *glyph = &font->glyphs[i];
        const float *plane = glyph->plane, *uv = glyph->uv;
        int side;
        if (glyph->codepoint > 0x10ffff || (i == 0 && glyph->codepoint != 0)) return KILN_VALUE;
        if (!kiln_finite(&glyph->advance, 1) || !kiln_finite(plane, 4)) return KILN_VALUE;
        if (plane[0] > plane[2] || plane[1] > plane[3]) return KILN_VALUE;
        for (side = 0; side < 4; side++)
            if (!kiln_finite(&uv[side], 1) || !kiln_within(0, uv[side], 1)) return KILN_VALUE;
        if (uv[0] > uv[2] || uv[1] > uv[3]) return KILN_VALUE;
        if (i > 0 && glyph[-1].codepoint >= glyph->codepoint) return KILN_ORDER;
    }
    for (i = 0; i < font->pair_count; i++) {
        const kiln_pair *pair = &font->pairs[i];
        if (!kiln_finite(&pair->advance, 1)) return KILN_VALUE;
        if (i > 0 && (pair[-1].left > pair->left || (pair[-1].left == pair->left && pair[-1].right >= pair->right)))
            return KILN_ORDER;
    }
    return KILN_OK;
}

/* Returns the glyph of a character, falling back to .notdef. */
static inline const kiln_glyph *kiln_font_glyph(const kiln_font *font, uint32_t codepoint) {
    uint32_t low = 0, high = font->glyph_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (font->glyphs[middle].codepoint == codepoint) return &font->glyphs[middle];
        if (font->glyphs[middle].codepoint < codepoint) low = middle + 1;
        else high = middle;
    }
    return font->glyphs;
}

/* Returns the kerning between two characters in em. */
static inline float kiln_font_kerning(const kiln_font *font, uint32_t left, uint32_t right) {
    uint32_t low = 0, high = font->pair_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const kiln_pair *pair = &font->pairs[middle];
        if (pair->left == left && pair->right == right) return pair->advance;
        if (pair->left < left || (pair->left == left && pair->right < right)) low = middle + 1;
        else high = middle;
    }
    return 0;
}

/* ---- .ktx2: the mip levels of a texture. Decompression and transcoding are left to the engine ---- */

typedef enum kiln_supercompression { KILN_PACKED_NOT = 0, KILN_PACKED_ZSTD = 2 } kiln_supercompression;

typedef struct kiln_texture {
    kiln_bytes file;
    uint32_t vk_format; /* a VkFormat; 0 for UASTC, which is transcoded */
    uint32_t width, height, depth, layer_count, face_count, level_count; /* 0 if unused, as in the file */
    kiln_supercompression supercompression;
    uint8_t is_srgb;
} kiln_texture;

typedef struct kiln_level {
    kiln_bytes bytes; /* supercompressed according to `supercompression`, each mip level separately */
    uint64_t unpacked_size;
    uint32_t width, height, depth;
} kiln_level;

static inline int kiln_texture_level(const kiln_texture *texture, uint32_t level, kiln_level *found) {
    const uint8_t *index = texture->file.data + 80 + (size_t)level * 24;
    uint64_t offset, size;
    if (level >= texture->level_count) return 0;
    offset = kiln_u64(index), size = kiln_u64(index + 8);
    if (offset > texture->file.size || size > texture->file.size - offset) return 0;
    found->bytes.data = texture->file.data + (size_t)offset;
    found->bytes.size = (size_t)size;
    found->unpacked_size = kiln_u64(index + 16);
    found->width = texture->width >> level ? texture->width >> level : 1;
    found->height = texture->height >> level ? texture->height >> level : 1;
    found->depth = texture->depth >> level ? texture->depth >> level : 1;
    return 1;
}

/* Returns the bytes of a block, or of a texel of uncompressed formats, and its side in texels; 0 for formats that Kiln
 * does not write. A row of blocks of a mip level has (width + side - 1) / side of them. */
static inline uint32_t kiln_texture_block(uint32_t vk_format, uint32_t *side) {
    *side = 4;
    switch (vk_format) {
    case 133: case 134: case 139: case 147: case 148: case 153: return 8; /* BC1, BC4, ETC2 RGB, EAC R11 */
    case 0: case 137: case 138: case 141: case 143: case 144: case 145: case 146: /* UASTC, BC3, BC5, BC6H, BC7 */
    case 151: case 152: case 155: case 157: case 158: return 16; /* ETC2 RGBA, EAC RG11, ASTC 4x4 */
    default: break;
    }
    *side = 1;
    switch (vk_format) {
    case 70: return 2; /* R16 */
    case 37: case 43: case 77: return 4; /* RGBA8, RG16 */
    case 91: case 97: return 8; /* RGBA16, RGBA16F */
    default: return 0;
    }
}

/* Reads what an upload needs. The sizes of the mip levels are checked by `assetc check` only. */
static inline kiln_status kiln_texture_open(const void *data, size_t size, kiln_texture *texture) {
    static const uint8_t identifier[12] = {0xab, 'K', 'T', 'X', ' ', '2', '0', 0xbb, '\r', '\n', 0x1a, '\n'};
    kiln_cursor cursor;
    const uint8_t *header;
    kiln_level level;
    uint32_t i, side, dfd, dfd_size, scheme;
    cursor.at = (const uint8_t *)data, cursor.left = size;
    if (!(header = kiln_take(&cursor, 80))) return KILN_TRUNCATED;
    if (memcmp(header, identifier, sizeof identifier) != 0) return KILN_MAGIC;
    texture->file.data = (const uint8_t *)data, texture->file.size = size;
    texture->vk_format = kiln_u32(header + 12);
    texture->width = kiln_u32(header + 20), texture->height = kiln_u32(header + 24);
    texture->depth = kiln_u32(header + 28), texture->layer_count = kiln_u32(header + 32);
    texture->face_count = kiln_u32(header + 36), texture->level_count = kiln_u32(header + 40);
    scheme = kiln_u32(header + 44);
    dfd = kiln_u32(header + 48), dfd_size = kiln_u32(header + 52);
    side = texture->width > texture->height ? texture->width : texture->height;
    side = side > texture->depth ? side : texture->depth;
    if (!texture->width || !texture->height || (texture->face_count != 1 && texture->face_count != 6)) return KILN_VALUE;
    if (!texture->level_count || texture->level_count > 32 || side >> (texture->level_count - 1) == 0) return KILN_VALUE;
    if (scheme != KILN_PACKED_NOT && scheme != KILN_PACKED_ZSTD) return KILN_VALUE;
    texture->supercompression = (kiln_supercompression)scheme;
    if (!kiln_take(&cursor, (uint64_t)texture->level_count * 24)) return KILN_TRUNCATED;
    if (dfd > size || dfd_size > size - dfd || dfd_size < 28) return KILN_TRUNCATED;
    texture->is_srgb = texture->file.data[dfd + 14] == 2; /* transferFunction of the basic descriptor block */
    for (i = 0; i < texture->level_count; i++)
        if (!kiln_texture_level(texture, i, &level)) return KILN_TRUNCATED;
    return KILN_OK;
}

/* ---- Octahedral encoding ---- */

/* Decodes a normal or tangent to a vector that is not normalised. */
static inline void kiln_octahedral(const int16_t packed[2], float out[3]) {
    float u = (float)packed[0] / 32767.0f, v = (float)packed[1] / 32767.0f, au, av;
    u = u < -1 ? -1 : u, v = v < -1 ? -1 : v;
    au = u < 0 ? -u : u, av = v < 0 ? -v : v;
    out[2] = 1 - au - av;
    out[0] = out[2] >= 0 ? u : (u < 0 ? av - 1 : 1 - av);
    out[1] = out[2] >= 0 ? v : (v < 0 ? au - 1 : 1 - au);
}

/* Returns the handedness, -1 or 1: bitangent = cross(normal, tangent) * handedness. */
static inline float kiln_handedness(const int16_t tangent[2]) { return tangent[0] & 1 ? -1.0f : 1.0f; }

#ifdef __cplusplus
}
#endif

#endif /* KILN_H */
