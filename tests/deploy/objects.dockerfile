# Stands in for an object store: moto's S3 server, beside the project in its own image.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
RUN python3 -m venv /opt/moto && /opt/moto/bin/pip install --no-cache-dir "moto[server]"
