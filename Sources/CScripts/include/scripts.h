#pragma once

/* The text of a file of lua/ or sql/, as "lua/append.lua"; NULL if there is none. In C, whose #embed
   puts a file into the program as it is, so that editors, linters and psql read the same file. */
const char *_Nullable embedded_text(const char *_Nonnull name);
