# docker build --tag lycosa .
# docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/data" lycosa new bees --topic "keeping bees" --seed https://example.org
# docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/data" --env LYCOSA_CONTACT=you@example.org lycosa crawl bees --pages 100
# A recipe that names code, a proxy, headers or files outside is used where the collection is known as your own, which is noted at home:
# add --volume "$HOME/.local/share/lycosa:/tmp/.local/share/lycosa" to every command.
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --only-binary=:all: /wheels/*.whl && rm -r /wheels
# Containers run as whoever owns the folder at /data, never as root unless told to.
USER 1000:1000
ENV HOME=/tmp
WORKDIR /data
ENTRYPOINT ["lycosa"]
CMD ["--help"]
