#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* OPENSSL_free is a macro. */
static inline void gapless_crypto_free(void *memory) { OPENSSL_free(memory); }

/* A macro of macros. */
static const int gapless_evp_public_key = EVP_PKEY_PUBLIC_KEY;
