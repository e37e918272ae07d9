#include <curl/curl.h>

/* curl_easy_setopt and curl_easy_getinfo are variadic, which Swift does not import. */
static inline CURLcode gapless_curl_set_long(CURL *h, CURLoption o, long v) {
    return curl_easy_setopt(h, o, v);
}
static inline CURLcode gapless_curl_set_pointer(CURL *h, CURLoption o, const void *v) {
    return curl_easy_setopt(h, o, v);
}
static inline CURLcode gapless_curl_set_write(CURL *h, curl_write_callback f) {
    return curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, f);
}
static inline CURLcode gapless_curl_response_code(CURL *h, long *v) {
    return curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, v);
}
