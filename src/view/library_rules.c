// SPDX-License-Identifier: Apache-2.0
//
// What libraries are told by: where their sources lie, or the program's parts themselves; and where
// no source file is known, what crates from crates.io are called, and where distributions put their
// programs. Interpreters and programs of the distribution are nobody's own code: a stack of nothing
// else is blamed on its innermost frame that is not folded, and a module of the user's own that
// they load leads.
//
// /usr/src is not here: it is where recipes for containers put the user's own sources.
#include "view/rules.h"

#define CRATE(pattern)                                                                             \
  {                                                                                                \
    TIDE_LAYER_LIBRARY, TIDE_RULE_CRATE, pattern                                                   \
  }
#define SOURCE(pattern)                                                                            \
  {                                                                                                \
    TIDE_LAYER_LIBRARY, TIDE_RULE_FILE, pattern                                                    \
  }
#define MODULE(pattern)                                                                            \
  {                                                                                                \
    TIDE_LAYER_LIBRARY, TIDE_RULE_MODULE, pattern                                                  \
  }

const struct tide_name_rule tide_library_rules[] = {
    SOURCE("*/registry/src/*"),
    SOURCE("*/git/checkouts/*"),
    SOURCE("*/pkg/mod/*"),
    SOURCE("/usr/include/*"),
    SOURCE("/usr/local/include/*"),
    SOURCE("/usr/lib/*"),
    SOURCE("/usr/lib64/*"),
    SOURCE("/usr/share/*"),
    SOURCE("/usr/local/go/*"),
    SOURCE("/usr/src/debug/*"),
    SOURCE("*/site-packages/*"),
    SOURCE("*/dist-packages/*"),
    SOURCE("*/node_modules/*"),
    SOURCE("vendor/*"),
    SOURCE("*/vendor/*"),
    SOURCE("vendored/*"),
    SOURCE("*/vendored/*"),
    SOURCE("third_party/*"),
    SOURCE("*/third_party/*"),
    SOURCE("thirdparty/*"),
    SOURCE("*/thirdparty/*"),
    SOURCE("3rdparty/*"),
    SOURCE("*/3rdparty/*"),
    SOURCE("external/*"),
    SOURCE("*/external/*"),
    SOURCE("subprojects/*"),
    SOURCE("*/subprojects/*"),
    SOURCE("*/_deps/*"),
    SOURCE("*/.conan/*"),
    SOURCE("*/.conan2/*"),
    SOURCE("*/vcpkg_installed/*"),
    SOURCE("*/vcpkg/buildtrees/*"),
    SOURCE("*/vcpkg/installed/*"),
    MODULE("/lib/*"),
    MODULE("/lib32/*"),
    MODULE("/lib64/*"),
    MODULE("/usr/lib/*"),
    MODULE("/usr/lib32/*"),
    MODULE("/usr/lib64/*"),
    MODULE("/usr/libexec/*"),
    MODULE("/usr/local/lib/*"),
    MODULE("/usr/local/lib64/*"),
    MODULE("/nix/store/*"),
    MODULE("/gnu/store/*"),
    MODULE("/snap/*"),
    MODULE("*/lib-dynload/*"),
    MODULE("*/site-packages/*"),
    MODULE("*/dist-packages/*"),
    MODULE("*/node_modules/*"),
    MODULE("python2*"),
    MODULE("python3*"),
    MODULE("libpython2*"),
    MODULE("libpython3*"),
    MODULE("libperl.so*"),
    MODULE("libruby*.so*"),
    MODULE("libnode.so*"),
    MODULE("libjvm.so"),
    MODULE("libR.so"),
    MODULE("libphp*.so"),
    MODULE("libmono*.so*"),
    MODULE("libcoreclr.so"),
};
const size_t tide_library_rules_n = sizeof tide_library_rules / sizeof *tide_library_rules;

const struct tide_name_rule tide_fileless_rules[] = {
    CRATE("aho_corasick"),  CRATE("anyhow"),     CRATE("arc_swap"),    CRATE("arrow"),
    CRATE("arrow_*"),       CRATE("aws_*"),      CRATE("axum"),        CRATE("axum_*"),
    CRATE("base64"),        CRATE("bincode"),    CRATE("bitvec"),      CRATE("bstr"),
    CRATE("bytemuck"),      CRATE("byteorder"),  CRATE("chrono"),      CRATE("ciborium"),
    CRATE("clap"),          CRATE("clap_*"),     CRATE("csv"),         CRATE("csv_core"),
    CRATE("dashmap"),       CRATE("diesel"),     CRATE("encoding_rs"), CRATE("env_logger"),
    CRATE("fancy_regex"),   CRATE("flate2"),     CRATE("fnv"),         CRATE("fst"),
    CRATE("http"),          CRATE("http_body"),  CRATE("httparse"),    CRATE("hyper_*"),
    CRATE("idna"),          CRATE("image"),      CRATE("ipnet"),       CRATE("jsonwebtoken"),
    CRATE("lalrpop"),       CRATE("lalrpop_*"),  CRATE("libp2p"),      CRATE("libp2p_*"),
    CRATE("log"),           CRATE("lru"),        CRATE("memchr"),      CRATE("memmap2"),
    CRATE("miniz_oxide"),   CRATE("moka"),       CRATE("mongodb"),     CRATE("ndarray"),
    CRATE("nom"),           CRATE("num_bigint"), CRATE("openssl"),     CRATE("pest"),
    CRATE("petgraph"),      CRATE("phf"),        CRATE("polars"),      CRATE("polars_*"),
    CRATE("postgres"),      CRATE("prost"),      CRATE("prost_*"),     CRATE("protobuf"),
    CRATE("quick_xml"),     CRATE("quinn"),      CRATE("quinn_*"),     CRATE("rand"),
    CRATE("rand_*"),        CRATE("redis"),      CRATE("regex"),       CRATE("regex_automata"),
    CRATE("regex_syntax"),  CRATE("reqwest"),    CRATE("ring"),        CRATE("rmp"),
    CRATE("rmp_serde"),     CRATE("rocksdb"),    CRATE("ron"),         CRATE("rumqttc"),
    CRATE("rusqlite"),      CRATE("rustls"),     CRATE("ryu"),         CRATE("sea_orm"),
    CRATE("semver"),        CRATE("serde"),      CRATE("serde_*"),     CRATE("simd_json"),
    CRATE("sled"),          CRATE("snap"),       CRATE("sqlx"),        CRATE("sqlx_*"),
    CRATE("syn"),           CRATE("tar"),        CRATE("tendril"),     CRATE("thiserror"),
    CRATE("time"),          CRATE("tinyvec"),    CRATE("toml"),        CRATE("toml_*"),
    CRATE("tonic"),         CRATE("tower_http"), CRATE("tracing"),     CRATE("tracing_*"),
    CRATE("tungstenite"),   CRATE("unicode_*"),  CRATE("url"),         CRATE("uuid"),
    CRATE("walkdir"),       CRATE("want"),       CRATE("warp"),        CRATE("webpki"),
    CRATE("webpki_*"),      CRATE("wasmtime"),   CRATE("wasmtime_*"),  CRATE("xml"),
    CRATE("yaml_rust"),     CRATE("zip"),        CRATE("zstd"),        CRATE("zstd_safe"),
    MODULE("/bin/*"),       MODULE("/sbin/*"),   MODULE("/usr/bin/*"), MODULE("/usr/sbin/*"),
    MODULE("/usr/games/*"), MODULE("perl"),      MODULE("perl5.*"),    MODULE("ruby"),
    MODULE("ruby2*"),       MODULE("ruby3*"),    MODULE("node"),       MODULE("nodejs"),
    MODULE("php"),          MODULE("php7*"),     MODULE("php8*"),      MODULE("lua"),
    MODULE("lua5*"),        MODULE("luajit"),    MODULE("java"),       MODULE("R"),
    MODULE("beam.smp"),     MODULE("ocamlrun"),  MODULE("guile"),
};
const size_t tide_fileless_rules_n = sizeof tide_fileless_rules / sizeof *tide_fileless_rules;
