# The image of `memory serve`: the command, the libraries that it needs, root certificates and time zones. It has no
# shell. The account 10001 runs it, and the root file system may be read-only: data is in /data, temporary files in /tmp.
#
#   docker build -t memory-engine .
#   docker run --read-only --tmpfs /tmp -v memory:/data -p 127.0.0.1:8765:8765 -e MEMORY_TOKEN=… memory-engine
#
# scripts/check-image runs the last stage without Docker.
FROM rust:1.95-bookworm@sha256:6258907abe69656e41cd992e0b705cdcfabcbbe3db374f92ed2d47121282d4a1 AS build
# The toolchain of this image, and not the one in rust-toolchain.toml, which would be downloaded.
ENV RUSTUP_TOOLCHAIN=1.95.0
WORKDIR /source
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates tzdata && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cargo build --profile dist --locked -p memory-engine-cli --bin memory
RUN packaging/docker/assemble-root target/dist/memory /image

FROM scratch
COPY --from=build /image/ /
USER 10001:10001
WORKDIR /data
ENV MEMORY_DB=/data/memory.db MEMORY_LISTEN=0.0.0.0:8765
VOLUME ["/data"]
EXPOSE 8765
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["/usr/bin/memory", "health"]
ENTRYPOINT ["/usr/bin/memory"]
CMD ["serve"]
