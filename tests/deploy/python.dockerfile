# Stands in for a public Python image where no registry can be reached: the local base image with venv.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
ENV PIP_CERT=/usr/local/share/facet/ca.crt
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3-venv \
 && rm -rf /var/lib/apt/lists/*
