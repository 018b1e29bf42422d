# Stands in for the public Postgres image: Debian's package, with the variables that compose.yaml sets.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql \
 && rm -rf /var/lib/apt/lists/*
COPY postgres.sh /postgres.sh
CMD ["bash", "/postgres.sh"]
