/* Loads a pack as an engine in C does: opens it and finds a material's textures through the manifest.
 *
 * It needs nothing but the header:
 *
 *     cc -std=c99 -Icrates/format/include crates/format/examples/load_pack.c -o load_pack
 *     ./load_pack examples/showcase/runtime/desktop.hpack
 *
 * With -DKILN_COMPRESSED_PACKS it also loads packs with compressed files (`pack_compress: zstd`), and needs a decompressor:
 * here that of the library of kiln-transcode-c, but libzstd does as well.
 *
 *     cargo build --release -p kiln-transcode-c
 *     cc -std=c99 -DKILN_COMPRESSED_PACKS -Icrates/format/include -Icrates/transcode-c/include \
 *         crates/format/examples/load_pack.c target/release/libkiln_transcode_c.a -lpthread -ldl -lm -o load_pack
 */
#include "kiln.h"

#ifdef KILN_COMPRESSED_PACKS
#include "kiln_transcode.h"
#endif

#include <stdio.h>
#include <stdlib.h>

/* An engine would memory-map the file; everything opened below points into these bytes without copying. */
static void *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    void *data = NULL;
    long end;
    if (file && fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0) {
        *size = (size_t)end;
        data = malloc(*size);
        if (data && fread(data, *size, 1, file) != 1) free(data), data = NULL;
    }
    if (file) fclose(file);
    return data;
}

#ifdef KILN_COMPRESSED_PACKS
#define OPEN_PACK kiln_compressed_pack_open

/* The decompressed files: a list of blocks that are freed together. */
static void **kept;
static size_t kept_count;

static void *keep(void *block) {
    void **more = (void **)realloc(kept, (kept_count + 1) * sizeof *kept);
    if (!more) return free(block), (void *)NULL;
    kept = more;
    return kept[kept_count++] = block;
}

static int decompress(void *user, kiln_bytes frame, uint8_t *out, size_t out_size) {
    (void)user;
    return kiln_transcode_decompress(frame.data, frame.size, out, out_size) == KILN_TRANSCODE_OK;
}
#else
#define OPEN_PACK kiln_pack_open
#endif

/* Returns the bytes of a file: in place, or decompressed into memory that an engine would free when it has uploaded it. This
 * example frees it at its end. */
static kiln_status file_bytes(const kiln_pack_entry *entry, kiln_bytes *bytes) {
    *bytes = entry->bytes;
#ifdef KILN_COMPRESSED_PACKS
    if (entry->content_size != entry->bytes.size) {
        size_t size = (size_t)entry->content_size;
        uint8_t *content = size == entry->content_size ? (uint8_t *)keep(malloc(size)) : NULL;
        if (!content) return KILN_TRUNCATED;
        bytes->data = content, bytes->size = size;
        return kiln_pack_read(entry, decompress, NULL, content, size);
    }
#endif
    return KILN_OK;
}

/* Returns the path of a companion file: `models/chair.hmat` for `models/chair.hmesh`. */
static int beside(const kiln_pack *pack, kiln_text mesh, const char *ext, kiln_pack_entry *found) {
    char path[65536 + 8];
    size_t stem = mesh.size - strlen("hmesh");
    kiln_text other;
    memcpy(path, mesh.data, stem);
    memcpy(path + stem, ext, strlen(ext));
    other.data = path, other.size = stem + strlen(ext);
    return kiln_pack_find(pack, other, found);
}

static void show_texture(const kiln_pack *pack, const kiln_manifest *manifest, const char *slot, uint64_t hash) {
    kiln_asset asset;
    kiln_pack_entry entry;
    kiln_texture texture;
    kiln_bytes bytes;
    /* A hash of 0 means that there is no such texture. Any other hash is resolved by the manifest. */
    if (!hash || !kiln_manifest_find(manifest, hash, &asset) || !kiln_pack_find(pack, asset.path, &entry)) return;
    if (file_bytes(&entry, &bytes) != KILN_OK) return;
    if (kiln_texture_open(bytes.data, bytes.size, &texture) != KILN_OK) return;
    printf("    %s: %.*s (%ux%u, %u levels)\n", slot, (int)asset.path.size, asset.path.data, texture.width, texture.height,
           texture.level_count);
}

static kiln_status load(const void *data, size_t size) {
    static const char manifest_path[] = "assets.hman";
    kiln_pack pack;
    kiln_manifest manifest;
    kiln_pack_entry entry, other;
    kiln_cursor files;
    kiln_text path;
    kiln_bytes bytes;
    kiln_status status = OPEN_PACK(data, size, &pack);
    if (status != KILN_OK) return status;
    path.data = manifest_path, path.size = strlen(manifest_path);
    if (!kiln_pack_find(&pack, path, &entry)) return KILN_MISSING;
    if ((status = file_bytes(&entry, &bytes)) != KILN_OK) return status;
    if ((status = kiln_manifest_open(bytes.data, bytes.size, &manifest)) != KILN_OK) return status;
    printf("%u files, %lu bytes\n", pack.count, (unsigned long)size);
    for (files = pack.entries; kiln_pack_next(&pack, &files, &entry);) {
        kiln_mesh mesh;
        kiln_materials materials = {NULL, 0};
        uint32_t i;
        if (entry.kind != KILN_PACK_MESH) continue;
        if ((status = file_bytes(&entry, &bytes)) != KILN_OK) return status;
        if ((status = kiln_mesh_open(bytes.data, bytes.size, &mesh)) != KILN_OK) return status;
        if (beside(&pack, entry.path, "hmat", &other)) {
            if ((status = file_bytes(&other, &bytes)) != KILN_OK) return status;
            if ((status = kiln_materials_open(bytes.data, bytes.size, &materials)) != KILN_OK) return status;
        }
        printf("\n%.*s: %u vertices, ready to upload\n", (int)entry.path.size, entry.path.data, mesh.desc.vertex_count);
        for (i = 0; i < mesh.desc.submesh_count; i++) {
            const kiln_submesh *submesh = &mesh.submeshes[i];
            const kiln_material *material;
            printf("  %u triangles in %u meshlets\n", submesh->index_count / 3, submesh->meshlet_count);
            if (submesh->material_slot >= materials.count) continue;
            material = &materials.rows[submesh->material_slot];
            show_texture(&pack, &manifest, "base", material->base_color_tex);
            show_texture(&pack, &manifest, "mr", material->metallic_roughness_tex);
            show_texture(&pack, &manifest, "normal", material->normal_tex);
            show_texture(&pack, &manifest, "occ", material->occlusion_tex);
            show_texture(&pack, &manifest, "emissive", material->emissive_tex);
        }
        /* Models that are compiled with mesh.scene_data have their nodes, cameras and lights in a scene. */
        if (beside(&pack, entry.path, "hscn", &other)) {
            kiln_scene scene;
            if ((status = kiln_scene_open(other.bytes.data, other.bytes.size, &scene)) != KILN_OK) return status;
            printf("  scene: %u nodes, %u cameras, %u lights, %u clips\n", scene.node_count, scene.camera_count, scene.light_count,
                   scene.clip_count);
        }
    }
    return KILN_OK;
}

int main(int argc, char **argv) {
    size_t size = 0;
    void *data;
    kiln_status status;
    if (argc != 2) return fprintf(stderr, "usage: load_pack <file.hpack>\n"), 2;
    if (!(data = read_file(argv[1], &size))) return fprintf(stderr, "error: %s cannot be read\n", argv[1]), 1;
    if ((status = load(data, size)) != KILN_OK) fprintf(stderr, "error: %s: %s\n", argv[1], kiln_status_text(status));
#ifdef KILN_COMPRESSED_PACKS
    while (kept_count > 0) free(kept[--kept_count]);
    free(kept);
#endif
    free(data);
    return status != KILN_OK;
}
