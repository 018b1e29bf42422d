# Base of every task: Debian bookworm, a terminal's usual tools, pytest for grading, the agent's unprivileged user.
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}

ENV LANG=C.UTF-8 PIP_BREAK_SYSTEM_PACKAGES=1

RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      bzip2 ca-certificates curl diffutils file gawk git jq less make patch procps \
      python3 python3-pip python3-pytest python3-yaml rsync sqlite3 tmux tree unzip xz-utils zip \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 --shell /bin/bash agent \
 && mkdir -p /app /logs/verifier \
 && chown agent:agent /app \
 && chmod 700 /logs/verifier \
 && mkdir -p /usr/local/share/facet \
 && dpkg-query -W -f '${Package}\n' > /usr/local/share/facet/base-packages.txt

WORKDIR /app
