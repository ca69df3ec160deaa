//! Compiles SQLite3 Multiple Ciphers with the options of the SQLite that libsqlite3-sys bundles, for the feature
//! `encryption`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "encryption")]
    encryption::compile();
}

#[cfg(feature = "encryption")]
mod encryption {
    use std::env;

    /// The options of libsqlite3-sys for its bundled SQLite.
    const OPTIONS: [&str; 19] = [
        "SQLITE_CORE",
        "SQLITE_DEFAULT_FOREIGN_KEYS=1",
        "SQLITE_ENABLE_API_ARMOR",
        "SQLITE_ENABLE_COLUMN_METADATA",
        "SQLITE_ENABLE_DBSTAT_VTAB",
        "SQLITE_ENABLE_FTS3",
        "SQLITE_ENABLE_FTS3_PARENTHESIS",
        "SQLITE_ENABLE_FTS5",
        "SQLITE_ENABLE_JSON1",
        "SQLITE_ENABLE_LOAD_EXTENSION=1",
        "SQLITE_ENABLE_MEMORY_MANAGEMENT",
        "SQLITE_ENABLE_RTREE",
        "SQLITE_ENABLE_STAT4",
        "SQLITE_SOUNDEX",
        "SQLITE_THREADSAFE=1",
        "SQLITE_USE_URI",
        "HAVE_USLEEP=1",
        "HAVE_ISNAN",
        "_POSIX_THREAD_SAFE_FUNCTIONS",
    ];

    /// The ciphers that are left out. The remaining one is ChaCha20-Poly1305.
    const UNUSED_CIPHERS: [&str; 6] = ["AES_128_CBC", "AES_256_CBC", "SQLCIPHER", "RC4", "ASCON128", "AEGIS"];

    /// A variable with further options, which libsqlite3-sys reads for its bundled SQLite, too.
    const FLAGS_VARIABLE: &str = "LIBSQLITE3_FLAGS";

    pub(super) fn compile() {
        let source = sqlite3mc_src::source_dir();
        let mut build = cc::Build::new();
        build.file(source.join(sqlite3mc_src::SOURCE_FILE)).include(source).warnings(false).debug(false);
        for option in OPTIONS {
            build.flag(format!("-D{option}"));
        }
        for cipher in UNUSED_CIPHERS {
            build.flag(format!("-DHAVE_CIPHER_{cipher}=0"));
        }
        if env::var_os("CARGO_CFG_WINDOWS").is_none() {
            build.flag("-DHAVE_LOCALTIME_R");
        }
        // As the workspace has it for libsqlite3-sys in a debug build. Level 2 takes the C compiler twice as long.
        if env::var("OPT_LEVEL").is_ok_and(|level| level == "0") {
            build.opt_level(1);
        }
        for flag in env::var(FLAGS_VARIABLE).unwrap_or_default().split_whitespace() {
            build.flag(if flag.starts_with('-') { flag.to_owned() } else { format!("-D{flag}") });
        }
        // The whole archive, because the crate that uses the symbols, libsqlite3-sys, comes later in the link order.
        build.link_lib_modifier("+whole-archive").compile("sqlite3mc");
        println!("cargo:rustc-env=SQLITE3MC_SQLITE_VERSION={}", sqlite3mc_src::SQLITE_VERSION);
        println!("cargo:rerun-if-env-changed={FLAGS_VARIABLE}");
    }
}
