#pragma once
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// Swift can't see the macros that work on stacks.
static inline STACK_OF(X509) *waymark_certificates(X509 *certificate) {
  STACK_OF(X509) *stack = sk_X509_new_null();
  if (stack && !sk_X509_push(stack, certificate)) {
    sk_X509_free(stack);
    return NULL;
  }
  return stack;
}
static inline void waymark_free_certificates(STACK_OF(X509) *stack) { sk_X509_free(stack); }
static inline int waymark_count(STACK_OF(X509) *stack) { return sk_X509_num(stack); }
static inline X509 *waymark_certificate(STACK_OF(X509) *stack, int index) { return sk_X509_value(stack, index); }
