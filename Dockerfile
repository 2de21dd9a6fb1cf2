# Slotcar's controller. `packages` is a venv with the hashed pins, `build` makes this checkout's own part of it, and the last stage
# carries both, the ssh client that Ansible needs, and a user without privileges. It runs with a read-only root. A change of the
# controller alone makes a new small layer on top of the packages' large one.
#
# Where no registry can be reached, BASE may be any image of Debian 12 with python3 and python3-venv; docs/howto/deploy.md says how
# `make image` makes one with debootstrap.
ARG BASE=python:3.12.11-slim-bookworm
FROM ${BASE} AS packages
WORKDIR /src
COPY requirements/runtime.txt requirements/collections.txt requirements/
COPY tools/install_collections.py tools/
RUN python3 -m venv /opt/slotcar/venv \
 && /opt/slotcar/venv/bin/pip install --no-cache-dir --require-hashes -r requirements/runtime.txt \
 && /opt/slotcar/venv/bin/python tools/install_collections.py requirements/collections.txt

FROM packages AS build
COPY pyproject.toml setup.py README.md LICENSE ansible.cfg ./
COPY requirements requirements
COPY client client
COPY controller controller
COPY inventories inventories
COPY playbooks playbooks
COPY plugins plugins
COPY roles roles
COPY schemas schemas
COPY templates templates
RUN /opt/slotcar/venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation --prefix /own ./client .

FROM ${BASE}
# The state folder is closed to others. A new volume takes over its owner, which is the one that docker-compose.yml names.
RUN if ! command -v ssh >/dev/null; then \
      apt-get update && apt-get install -y --no-install-recommends openssh-client && rm -rf /var/lib/apt/lists/*; \
    fi \
 && groupadd --gid 10001 slotcar \
 && useradd --uid 10001 --gid slotcar --no-create-home --home-dir /var/lib/slotcar slotcar \
 && install --directory --mode 0700 --owner slotcar --group slotcar /var/lib/slotcar
COPY --from=packages /opt/slotcar/venv /opt/slotcar/venv
COPY --from=build /own /opt/slotcar/venv
# The playbooks, for a person in the container: /opt/slotcar/share/playbooks.
RUN ln -s "$(/opt/slotcar/venv/bin/python -c 'from slotcar.base.shipped import shipped; print(shipped())')" /opt/slotcar/share
ARG BASE
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="slotcar" \
      org.opencontainers.image.description="A bandwidth broker that runs as network automation" \
      org.opencontainers.image.licenses="Apache-2.0 AND GPL-3.0-or-later" \
      org.opencontainers.image.base.name="${BASE}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV PATH=/opt/slotcar/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    SLOTCAR_STATE_DIR=/var/lib/slotcar
WORKDIR /var/lib/slotcar
USER slotcar
VOLUME /var/lib/slotcar
EXPOSE 8470
ENTRYPOINT ["slotcar"]
CMD ["serve"]
