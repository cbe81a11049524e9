import Wire

/// The keys and products of the stand-in for the App Store. The keys are public on purpose: only development builds and
/// tests accept what they sign. Protocol/vectors/generate_purchase.py made them.
package enum DevelopmentStore {
  package static let bundle = "dev.waymark.app"
  package static let yearly = "dev.waymark.app.yearly"
  package static let lifetime = "dev.waymark.app.lifetime"

  /// The root, as DER.
  package static let root = PinnedRoots.certificate(
    """
    MIICWDCCAd+gAwIBAgIIHr5WVjuJu4EwCgYIKoZIzj0EAwMwcjEiMCAGA1UEAwwZV2F5bWFyayBUZXN0IFJvb3QgQ0EgLSBHMzEt
    MCsGA1UECwwkV2F5bWFyayBUZXN0IENlcnRpZmljYXRpb24gQXV0aG9yaXR5MRAwDgYDVQQKDAdXYXltYXJrMQswCQYDVQQGEwJV
    UzAeFw0yNDAxMDEwMDAwMDBaFw00OTEyMzEyMzU5NTlaMHIxIjAgBgNVBAMMGVdheW1hcmsgVGVzdCBSb290IENBIC0gRzMxLTAr
    BgNVBAsMJFdheW1hcmsgVGVzdCBDZXJ0aWZpY2F0aW9uIEF1dGhvcml0eTEQMA4GA1UECgwHV2F5bWFyazELMAkGA1UEBhMCVVMw
    djAQBgcqhkjOPQIBBgUrgQQAIgNiAARh+qCIRiSWm50DGCS+xr134UthTg6qREZx+K9hwGWwocKoeFuh3+9KphsqP9hSy1OBgfF4
    AtS2oeqXYyhod0Smz3Qq48FDdvK3SQBnW5Vvskv4w0NRIvFYm4OpcIF1z8ajQjBAMA8GA1UdEwEB/wQFMAMBAf8wHQYDVR0OBBYE
    FFvOZ1K87S0XS2ayOG0Lv1BTDkGyMA4GA1UdDwEB/wQEAwIBBjAKBggqhkjOPQQDAwNnADBkAjByqy5qAQoqrrhQZ3cfGJnniWXa
    d+9jmKxvcV2ASDjtQvcfGTvdNgAkzBehqCZeWvwCMF2KAUg4ohHNNg8KHadtdzP5i1dSZ6viL2OblZP5q+jxITgvCaqDi81ORVcj
    e7VKlg==
    """)

  /// The certificate between the leaf and the root, as DER.
  package static let intermediate = PinnedRoots.certificate(
    """
    MIICcDCCAfagAwIBAgIIX5EZZ/sKOVEwCgYIKoZIzj0EAwMwcjEiMCAGA1UEAwwZV2F5bWFyayBUZXN0IFJvb3QgQ0EgLSBHMzEt
    MCsGA1UECwwkV2F5bWFyayBUZXN0IENlcnRpZmljYXRpb24gQXV0aG9yaXR5MRAwDgYDVQQKDAdXYXltYXJrMQswCQYDVQQGEwJV
    UzAeFw0yNDAxMDEwMDAwMDBaFw00OTEyMzEyMzU5NTlaMFMxJTAjBgNVBAMMHFdheW1hcmsgVGVzdCBJbnRlcm1lZGlhdGUgQ0Ex
    CzAJBgNVBAsMAkc2MRAwDgYDVQQKDAdXYXltYXJrMQswCQYDVQQGEwJVUzB2MBAGByqGSM49AgEGBSuBBAAiA2IABL98h5Hd4P3l
    ZFfrDVGycuxl//ey2n8Et38oa+5RuTSKVTnhYR5bbpWV8qvrB8YHbfH3QA6jYdjC3awLAClUKE7PbjNmbwvjAhB2ePMfzti7k8Yh
    ueV9W3MsHF3WBFC3daN4MHYwEgYDVR0TAQH/BAgwBgEB/wIBADAfBgNVHSMEGDAWgBRbzmdSvO0tF0tmsjhtC79QUw5BsjAdBgNV
    HQ4EFgQUYirWdztS4fzoSwCNiecKn0gRiBswDgYDVR0PAQH/BAQDAgEGMBAGCiqGSIb3Y2QGAgEEAgUAMAoGCCqGSM49BAMDA2gA
    MGUCMDpp4868owVWUYxARXKNt6p69ngyST9F+vYkCXzzaNM0uM7mN0hW2Lf0zuNmKsm0HgIxAOxRvNCl2wqlrWzfBMJfVwM0KQ++
    gVBZoJEzOFdJCfpoL02gQPnFG1DtszluVdh0pA==
    """)

  /// The certificate of the key that signs, as DER.
  package static let leaf = PinnedRoots.certificate(
    """
    MIICSTCCAdCgAwIBAgIIWo31XUzVJtYwCgYIKoZIzj0EAwMwUzElMCMGA1UEAwwcV2F5bWFyayBUZXN0IEludGVybWVkaWF0ZSBD
    QTELMAkGA1UECwwCRzYxEDAOBgNVBAoMB1dheW1hcmsxCzAJBgNVBAYTAlVTMB4XDTI0MDEwMTAwMDAwMFoXDTQ5MTIzMTIzNTk1
    OVowbzEvMC0GA1UEAwwmV2F5bWFyayBUZXN0IEFwcCBTdG9yZSBSZWNlaXB0IFNpZ25pbmcxHTAbBgNVBAsMFFdheW1hcmsgVGVz
    dCBWZWN0b3JzMRAwDgYDVQQKDAdXYXltYXJrMQswCQYDVQQGEwJVUzBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDIvqNdiYneC
    /c7AyRQQ/yhrqRolluDysQVGS+m6xt7Q36My8Al/g/GY7SoKtKex4DaRTr+3cEFwV+sAjbGSqX6jcjBwMAwGA1UdEwEB/wQCMAAw
    HwYDVR0jBBgwFoAUYirWdztS4fzoSwCNiecKn0gRiBswHQYDVR0OBBYEFMvhMWUuC4pp7AthxFtqo3Jd/2xgMA4GA1UdDwEB/wQE
    AwIHgDAQBgoqhkiG92NkBgsBBAIFADAKBggqhkjOPQQDAwNnADBkAjAKG/TSTLLvRKgMoHLCUcVb6btZvtO7yCsc6Rkw87pnJn8g
    Za6PTjwelnEkP84wiTcCMAPsyAhRWg7NeOp788E0h4BTSQpHwVF8Fp4hbvsSlJdwx6d8SfLA+vPvTxjAc/iY2Q==
    """)

  /// The key that signs: a scalar of P-256.
  package static let leafKey: [UInt8] = [
    0x00, 0xfe, 0xe1, 0xbb, 0x92, 0xfa, 0x96, 0x4c, 0xf1, 0xd4, 0xf3, 0x65, 0xa8, 0xbb, 0x70, 0x1d,
    0x10, 0xe8, 0x82, 0x82, 0x94, 0xe3, 0x78, 0x81, 0x6c, 0x35, 0x94, 0x02, 0x0b, 0xb1, 0xf3, 0x38,
  ]
}

extension PurchasePolicy {
  /// What development builds accept: the products of an app that does not exist, from the stand-in for the App Store.
  package static let development = PurchasePolicy(
    apps: [
      App(bundle: DevelopmentStore.bundle, products: [DevelopmentStore.yearly, DevelopmentStore.lifetime])
    ]
  ).acceptingDevelopmentStore

  /// The same policy, which also accepts the stand-in for the App Store.
  package var acceptingDevelopmentStore: PurchasePolicy {
    var policy = self
    if !policy.roots.contains(DevelopmentStore.root) { policy.roots.append(DevelopmentStore.root) }
    return policy
  }
}
