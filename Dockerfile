# docker build --tag lycosa .
# docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/data" lycosa new bees --topic "keeping bees" --seed https://example.org
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
