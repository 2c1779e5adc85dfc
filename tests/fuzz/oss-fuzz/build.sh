#!/bin/bash -eu
# Builds the fuzz targets with OSS-Fuzz's compiler, engine and sanitizer, from the top directory.
make -C tests/fuzz -j"$(nproc)" OUT="$WORK/fuzz" CC="$CC" SANITIZE="$CFLAGS" COVER= \
  LINK="$CXX $CXXFLAGS" ENGINE="$LIB_FUZZING_ENGINE" targets
for target in "$WORK"/fuzz/fuzz_*; do
  name=$(basename "$target")
  cp "$target" "$OUT/"
  cp tests/fuzz/words.dict "$OUT/$name.dict"
  if [[ -d tests/fuzz/corpus/${name#fuzz_} ]]; then
    zip -jqr "$OUT/${name}_seed_corpus.zip" "tests/fuzz/corpus/${name#fuzz_}"
  fi
done
