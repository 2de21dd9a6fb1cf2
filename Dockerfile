# Slotcar's controller. Built twice over: the first stage compiles nothing but installs the hashed pins into a venv,
# the second carries that venv, the ssh client that Ansible needs, and a user without privileges.
FROM python:3.12.11-slim-bookworm AS build
WORKDIR /src
COPY requirements/runtime.txt requirements/collections.txt requirements/
COPY tools/install_collections.py tools/
RUN python -m venv /opt/slotcar/venv \
 && /opt/slotcar/venv/bin/pip install --no-cache-dir --require-hashes -r requirements/runtime.txt \
 && /opt/slotcar/venv/bin/python tools/install_collections.py requirements/collections.txt
COPY pyproject.toml README.md LICENSE ./
COPY client client
COPY controller controller
RUN /opt/slotcar/venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation ./client .

FROM python:3.12.11-slim-bookworm
RUN apt-get update \
 && apt-get install -y --no-install-recommends openssh-client \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --create-home --home-dir /var/lib/slotcar slotcar
COPY --from=build /opt/slotcar/venv /opt/slotcar/venv
COPY --chown=root:root ansible.cfg /opt/slotcar/
COPY playbooks /opt/slotcar/playbooks
COPY roles /opt/slotcar/roles
COPY plugins /opt/slotcar/plugins
COPY templates /opt/slotcar/templates
ENV PATH=/opt/slotcar/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ANSIBLE_CONFIG=/opt/slotcar/ansible.cfg \
    SLOTCAR_HOME=/opt/slotcar \
    SLOTCAR_STATE_DIR=/var/lib/slotcar
WORKDIR /opt/slotcar
USER slotcar
VOLUME /var/lib/slotcar
EXPOSE 8470
ENTRYPOINT ["slotcar"]
CMD ["serve"]
