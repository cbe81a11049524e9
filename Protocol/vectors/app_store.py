"""Protocol/purchase.md: a public key infrastructure in the shape of Apple's, and the tokens that it signs.

cryptography makes and signs certificates. Keys and serials are derived from text, and ECDSA is deterministic (RFC
6979), so that each run yields the same bytes. Certificates that the package doesn't make are assembled here.
"""

import base64
import datetime
import hashlib
import json

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa, utils
from cryptography.x509.oid import NameOID, ObjectIdentifier

INTERMEDIATE_MARKER, LEAF_MARKER = "1.2.840.113635.100.6.2.1", "1.2.840.113635.100.6.11.1"
NULL = b"\x05\x00"
ORDER_P256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def number(text, bits):
    digest = b"".join(hashlib.sha512(f"waymark vector {text} {n}".encode()).digest() for n in range(bits // 512 + 1))
    return int.from_bytes(digest, "big") >> (len(digest) * 8 - bits)


def ec_key(name, curve=None):
    curve = curve or ec.SECP256R1()
    return ec.derive_private_key(number("app store key " + name, curve.key_size - 8), curve)


def rsa_key(name):
    primes = []
    for half in (1, 2):
        candidate = number(f"rsa {name} {half}", 1024) | 3 << 1022 | 1
        while pow(2, candidate - 1, candidate) != 1 or candidate % 65_537 == 1:
            candidate += 2
        primes.append(candidate)
    p, q = primes
    private = rsa.rsa_recover_private_exponent(65_537, p, q)
    return rsa.RSAPrivateNumbers(
        p, q, private, rsa.rsa_crt_dmp1(private, p), rsa.rsa_crt_dmq1(private, q), rsa.rsa_crt_iqmp(p, q),
        rsa.RSAPublicNumbers(65_537, p * q)).private_key()


def scalar(key):
    return key.private_numbers().private_value.to_bytes(key.key_size // 8, "big")


def name(common, unit="Waymark Test Vectors"):
    return x509.Name([
        x509.NameAttribute(NameOID.COMMON_NAME, common), x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit),
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Waymark"), x509.NameAttribute(NameOID.COUNTRY_NAME, "US")])


FIRST = datetime.datetime(2024, 1, 1)
LAST = datetime.datetime(2049, 12, 31, 23, 59, 59)
ROOT_NAME = name("Waymark Test Root CA - G3", "Waymark Test Certification Authority")
INTERMEDIATE_NAME = name("Waymark Test Intermediate CA", "G6")
LEAF_NAME = name("Waymark Test App Store Receipt Signing")
ROOT_KEY = ec_key("root", ec.SECP384R1())
INTERMEDIATE_KEY = ec_key("intermediate", ec.SECP384R1())
LEAF_KEY = ec_key("leaf")
CERTIFICATION = ("key_cert_sign", "crl_sign")
UNKNOWN = x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.99999.1"), NULL)


def usage(kinds):
    fields = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
              "key_cert_sign", "crl_sign", "encipher_only", "decipher_only")
    return x509.KeyUsage(**{field: field in kinds for field in fields})


def certificate(subject, key, issuer, signer, *, constraints, kinds, markers, serial, first=FIRST, last=LAST,
                hash=None, critical=()):
    """DER. `constraints`: whether it is a CA, and the path length; None without the extension, and so for `kinds`."""
    builder = x509.CertificateBuilder(
        issuer, subject, key.public_key(), number("serial " + serial, 63) | 1 << 60, first, last)
    if constraints:
        builder = builder.add_extension(x509.BasicConstraints(*constraints), critical=True)
    if key is not ROOT_KEY:
        of = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
        builder = builder.add_extension(of, critical=False)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    if kinds:
        builder = builder.add_extension(usage(kinds), critical=True)
    for identifier, value in markers.items():
        builder = builder.add_extension(x509.UnrecognizedExtension(ObjectIdentifier(identifier), value), critical=False)
    for extension in critical:
        builder = builder.add_extension(extension, critical=True)
    deterministic = {"ecdsa_deterministic": True} if isinstance(signer, ec.EllipticCurvePrivateKey) else {}
    made = builder.sign(signer, hash or hashes.SHA384(), **deterministic)
    return made.public_bytes(serialization.Encoding.DER)


def intermediate(serial="intermediate", **changes):
    values = {
        "subject": INTERMEDIATE_NAME, "key": INTERMEDIATE_KEY, "issuer": ROOT_NAME, "signer": ROOT_KEY,
        "constraints": (True, 0), "kinds": CERTIFICATION, "markers": {INTERMEDIATE_MARKER: NULL}}
    return certificate(**{**values, **changes}, serial=serial)


def leaf(serial="leaf", **changes):
    values = {
        "subject": LEAF_NAME, "key": LEAF_KEY, "issuer": INTERMEDIATE_NAME, "signer": INTERMEDIATE_KEY,
        "constraints": (False, None), "kinds": ("digital_signature",), "markers": {LEAF_MARKER: NULL}}
    return certificate(**{**values, **changes}, serial=serial)


def root(serial="root", key=ROOT_KEY, subject=ROOT_NAME):
    return certificate(subject, key, subject, key, constraints=(True, None), kinds=CERTIFICATION, markers={},
                       serial=serial)


ROOT, INTERMEDIATE, LEAF = root(), intermediate(), leaf()
CHAIN = (LEAF, INTERMEDIATE, ROOT)


def tlv(tag, content):
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def elements(data):
    """The elements of a DER sequence, each with its head."""
    def read(at):
        size, start = data[at + 1], at + 2
        if size >= 128:
            start += size & 127
            size = int.from_bytes(data[at + 2:start], "big")
        return start, start + size
    at, end = read(0)
    found = []
    while at < end:
        found.append(data[at:read(at)[1]])
        at = read(at)[1]
    return found


def signed_with_sha1(data, signer):
    """The same certificate, signed with ECDSA and SHA-1, which the package refuses to do."""
    algorithm = tlv(0x30, bytes.fromhex("06072a8648ce3d0401"))
    parts = elements(elements(data)[0])
    parts[2] = algorithm
    signed = tlv(0x30, b"".join(parts))
    signature = signer.sign(signed, ec.ECDSA(hashes.SHA1(), deterministic_signing=True))
    return tlv(0x30, signed + algorithm + tlv(0x03, b"\0" + signature))


def part(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def x5c(chain):
    return [base64.b64encode(each).decode() for each in chain]


def json_bytes(value):
    return value if isinstance(value, bytes) else json.dumps(
        value, separators=(",", ":"), ensure_ascii=False).encode()


def raw_signature(message, key, hash=None):
    """r and s, each as long as the curve's field."""
    r, s = utils.decode_dss_signature(key.sign(message, ec.ECDSA(hash or hashes.SHA256(), deterministic_signing=True)))
    size = key.key_size // 8
    return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def header(chain=CHAIN, **changes):
    """`_` instead of a value leaves the key out."""
    pairs = {"alg": "ES256", "x5c": x5c(chain), **changes}
    return {key: value for key, value in pairs.items() if value != "_"}


def token(payload, head=None, key=LEAF_KEY, signature=None):
    """A signed token. `payload` and `head` are values, or bytes to be taken as they are; so is `signature`."""
    message = part(json_bytes(head or header())) + "." + part(json_bytes(payload))
    if signature is None:
        signature = raw_signature(message.encode(), key)
    return message + "." + part(signature)


def unsigned(payload):
    """A token that can be read, and is not genuine."""
    return token(payload, {"alg": "none"}, signature=b"")
