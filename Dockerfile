# Slotcar's controller, in two stages: the first installs the hashed pins and the wheels into a venv, the second carries that
# venv, the ssh client that Ansible needs, and a user without privileges. It runs with a read-only root.
#
# Where no registry can be reached, BASE may be any image of Debian 12 with python3 and python3-venv; docs/howto/deploy.md says how
# to make one with debootstrap.
ARG BASE=python:3.12.11-slim-bookworm
FROM ${BASE} AS build
WORKDIR /src
COPY requirements/runtime.txt requirements/collections.txt requirements/
COPY tools/install_collections.py tools/
RUN python3 -m venv /opt/slotcar/venv \
 && /opt/slotcar/venv/bin/pip install --no-cache-dir --require-hashes -r requirements/runtime.txt \
 && /opt/slotcar/venv/bin/python tools/install_collections.py requirements/collections.txt
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
RUN /opt/slotcar/venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation ./client .

FROM ${BASE}
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="slotcar" \
      org.opencontainers.image.description="A bandwidth broker that runs as network automation" \
      org.opencontainers.image.licenses="Apache-2.0 AND GPL-3.0-or-later" \
      org.opencontainers.image.version="${VERSION}"
RUN if ! command -v ssh >/dev/null; then \
      apt-get update && apt-get install -y --no-install-recommends openssh-client && rm -rf /var/lib/apt/lists/*; \
    fi \
 && useradd --system --uid 10001 --create-home --home-dir /var/lib/slotcar slotcar
COPY --from=build /opt/slotcar/venv /opt/slotcar/venv
# The playbooks, for a person in the container: /opt/slotcar/share/playbooks.
RUN ln -s "$(/opt/slotcar/venv/bin/python -c 'from slotcar.shipped import shipped; print(shipped())')" /opt/slotcar/share
ENV PATH=/opt/slotcar/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    SLOTCAR_STATE_DIR=/var/lib/slotcar
WORKDIR /var/lib/slotcar
USER slotcar
VOLUME /var/lib/slotcar
EXPOSE 8470
ENTRYPOINT ["slotcar"]
CMD ["serve"]
