"""Protocol/purchase.md, "Verifying", steps 3 to 5: the path of three certificates, by hand."""

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtensionOID, ObjectIdentifier

INTERMEDIATE_MARKER = ObjectIdentifier("1.2.840.113635.100.6.2.1")
LEAF_MARKER = ObjectIdentifier("1.2.840.113635.100.6.11.1")
HASHES = {
    "1.2.840.10045.4.3.2": hashes.SHA256(), "1.2.840.10045.4.3.3": hashes.SHA384(),
    "1.2.840.10045.4.3.4": hashes.SHA512()}
PROCESSED = {ExtensionOID.BASIC_CONSTRAINTS, ExtensionOID.KEY_USAGE}


class NotGenuine(Exception):
    """Why a token is not genuine."""


def require(condition, reason):
    if not condition:
        raise NotGenuine(reason)


def read_certificate(der, name):
    try:
        found = x509.load_der_x509_certificate(der)
        extensions = {each.oid: each for each in found.extensions}
        found.public_key()
    except Exception:  # The package has an error of its own for each part of a certificate.
        raise NotGenuine(f"the {name} is no certificate") from None
    require(found.version == x509.Version.v3, f"the {name} has no version 3")
    return found, extensions


def check_period(certificate, second, name):
    first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    require(first.timestamp() <= second, f"the {name} is not valid yet")
    require(second <= last.timestamp(), f"the {name} has expired")


def check_issue(certificate, issuer, name):
    """The name and the signature of the issuer."""
    require(certificate.issuer.public_bytes() == issuer.subject.public_bytes(), f"the issuer's name in the {name}")
    hash_ = HASHES.get(certificate.signature_algorithm_oid.dotted_string)
    require(hash_, f"the algorithm of the {name}'s signature")
    key = issuer.public_key()
    require(isinstance(key, ec.EllipticCurvePublicKey), f"the key of the {name}'s issuer")
    try:
        key.verify(certificate.signature, certificate.tbs_certificate_bytes, ec.ECDSA(hash_))
    except InvalidSignature:
        raise NotGenuine(f"the {name}'s signature") from None


def check_extensions(extensions, marker, name):
    for oid, each in extensions.items():
        require(oid in PROCESSED or not each.critical, f"a critical extension of the {name}")
    require(marker in extensions, f"the {name} has no marker")


def key_of_leaf(leaf_der, intermediate_der, root_der, second):
    """The public key of the leaf if the path to the pinned root is valid at that second."""
    root, _ = read_certificate(root_der, "root")
    middle, of_middle = read_certificate(intermediate_der, "intermediate")
    leaf, of_leaf = read_certificate(leaf_der, "leaf")
    check_period(root, second, "root")
    for certificate, issuer, name in ((middle, root, "intermediate"), (leaf, middle, "leaf")):
        check_issue(certificate, issuer, name)
        check_period(certificate, second, name)
    check_extensions(of_middle, INTERMEDIATE_MARKER, "intermediate")
    check_extensions(of_leaf, LEAF_MARKER, "leaf")
    constraints = of_middle.get(ExtensionOID.BASIC_CONSTRAINTS)
    # No CA follows the intermediate, so every path length is long enough.
    require(constraints and constraints.value.ca, "the intermediate is no CA")
    usage = of_middle.get(ExtensionOID.KEY_USAGE)
    require(not usage or usage.value.key_cert_sign, "the intermediate may not sign certificates")
    usage = of_leaf.get(ExtensionOID.KEY_USAGE)
    require(not usage or usage.value.digital_signature, "the leaf may not sign")
    key = leaf.public_key()
    require(isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1), "the leaf's key")
    return key
