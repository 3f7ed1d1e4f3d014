# The image of `machinist run`: one binary on distroless, as user 65532, without the playground and its control plane.
#
# No step names an architecture: `docker buildx build --platform linux/amd64,linux/arm64 .` builds both, each on its
# own platform (emulated if necessary), because cross-compiling aws-lc (C and assembly) costs more than it saves.
# Plain Dockerfile syntax and full image names, so that podman and buildah read it as well. It needs a registry;
# `make image` reads the cargo command and the last stage from here and needs none. `cargo xtask check image` checks the
# build steps without a container engine.

# The builder's C library must not be newer than the one in the runtime image: both are Debian 12.
ARG BUILDER=docker.io/library/rust:1.95-bookworm
ARG RUNTIME=gcr.io/distroless/cc-debian12:nonroot

FROM ${BUILDER} AS build
# For `machinist version`: the context has no .git.
ARG COMMIT=
WORKDIR /src
COPY . .
# The caches survive between builds on one machine; the binary is copied out because the cache is not part of the layer.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    MACHINIST_COMMIT=${COMMIT} cargo build --release --locked -p machinist --no-default-features --features image \
 && cp target/release/machinist /machinist

FROM ${RUNTIME}
ARG VERSION=dev
ARG COMMIT=
LABEL org.opencontainers.image.title="machinist" \
      org.opencontainers.image.description="Manages the machines of a Kubernetes cluster" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/machinist-dev/machinist" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
COPY --from=build /machinist /machinist
USER 65532:65532
# Metrics, then health.
EXPOSE 8080 9440
ENTRYPOINT ["/machinist"]
CMD ["run"]
