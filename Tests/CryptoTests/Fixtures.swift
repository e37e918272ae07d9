/// Keys and tokens made once by PyJWT 2.15 and cryptography 50, which share no code with what is
/// tested. The claims of each token: sub alice, iat and nbf 1800000000, exp an hour later, iss
/// https://issuer.example, aud chat and other. The keys guard nothing.
enum Fixtures {
    /// The moment at which the tokens were made, in seconds.
    static let issued: Int64 = 1_800_000_000

    /// The secret of the HS256 token.
    static let secret = """
        a secret of the tests, of no other use
        """

    /// The public half of `rsaPrivate`.
    static let rsaPublic = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA5hSGNa92bWf+QElzXqD7
        TJl5rOp0weTemkA+ahIExc2BQZhOwLDWSqNoIx9cGA1DqHCuExruIhDJVcfMww10
        cos1R98bKFHSXXLeAf/5x7gAFZ6wJJj69SMfgLWbW6/hrKtEWBqGzxQVIo22Wl0E
        YmeYTKGzP2LsjXdbYwGnhtakUi1yo6Wx/ZjDFBCillxMyBO02FCxrwEm3u56XC7Q
        4+K220AV7sELnCcK0e9JLQO5/F+elVADNItO2lxtqrn0zhDvJQMyPXlkT+PQ2bcy
        18rladHUs0VW9J6c3p1GxzaOUefpnW/sEiLSzMffSStQ/diyq9iEomsdv24VIGWo
        hwIDAQAB
        -----END PUBLIC KEY-----
        """

    /// A private key without a passphrase.
    static let rsaPrivate = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDmFIY1r3ZtZ/5A
        SXNeoPtMmXms6nTB5N6aQD5qEgTFzYFBmE7AsNZKo2gjH1wYDUOocK4TGu4iEMlV
        x8zDDXRyizVH3xsoUdJdct4B//nHuAAVnrAkmPr1Ix+AtZtbr+Gsq0RYGobPFBUi
        jbZaXQRiZ5hMobM/YuyNd1tjAaeG1qRSLXKjpbH9mMMUEKKWXEzIE7TYULGvASbe
        7npcLtDj4rbbQBXuwQucJwrR70ktA7n8X56VUAM0i07aXG2qufTOEO8lAzI9eWRP
        49DZtzLXyuVp0dSzRVb0npzenUbHNo5R5+mdb+wSItLMx99JK1D92LKr2ISiax2/
        bhUgZaiHAgMBAAECggEADj25+uuz6Fy1+5OwTOyo8VpUkjPm6zN35dNRKa6Y1gd8
        1ysOwNWRRghsQzRHNoPnqq7iz3Lsx3YDiEg4L+CO0yIzt5GjNDEwVLFt9XC7LLYC
        Z1Qtse44JmE4q3ZSOfAeh1oIfm2R55JmJn/gCCLWySKBZkjh9+vvGWiIYw3wqSNU
        9q/SpeOt1pZfpScnnYcT2aBcP8bgd086aC8kz3q3OWWO5c9AbtBRESn+xn3+kwa2
        8SgL9ctXC56vMe0ePWQkRGh3CtSDg7Y1DeiEtNfEG1ick8I9W4kpjBK+a+lOVkKY
        OVQwsw/hF4stDk4ti9rBysqIqe7xOY7SOmPZmeD6eQKBgQD3b3NxTCcbJiE9B1Kd
        wONVoNM3xddVvkcsQGSmWyBndZ+v58eMrn/3C6kr8aHjewJ0cORw5te9pzOvBIIw
        WfxtXsIzzV4OIxkbU4yMBW4FeOKg10nCpvyHYf2Fi9doLaT+kCPU5CsXKV1RHC0h
        SdTRcp0IwYDYmx44IS0h/muvSQKBgQDuC0mOYEcKD6bXJIPpFg1PVa/BwdhKant0
        zZUoDpdoYd/tlvnMfTONEk1YC6QSnI+1smt9FQisnGkmD3Ns1eguMjQqjXkh8W+q
        s7rY0+CcBkn/EQNASgjwkE60Ax2TJj3xlH2ueMxpJ/1JzvHnjWhhV+e7bhtEX2Wm
        Ji9HpvkJTwKBgG+/V+XNPMQYHl7PldJFMOaVMY84vJ2ux7oGgu5WrXXMO4hYJ1kz
        3fsWuxprkG+KOHuaGLGcr8apYsAiSyHHIifK6e43S8katNYQj6MVOLEj/UYitN9C
        Rz5lVPghRfF429FUC7q0KXnWZpyhGwizrXfCSYWQzr4EoEs9QILfwoZxAoGBANFB
        VOD225wJlEWuENN2ki66iW1PRR5tqqdMDaGP6iNVXq8SN/c93HJXs2wBl7LQtDgq
        Zvkm42AxgvF1RadYBumNMnRxtxlSjzJFGqx+3QTrNmMlhnEeY+ttP/JYhsgTJwLV
        4QHdqPuLrsoSRG6jzS09RDVsnkWlgsri6E8ZhfRbAoGBAOEPk+9/FrX46bTpnOPa
        rO7GeJPr/1CWXmKZPKCkppeqKXXCp2zl2Wn4fVGJxyNRtUfRNKiKi6nT6sziP0uS
        57TxIrMdmeUq4r6OO2fvAw2N+7DSYnBojibEvsjF+qWgvo1OUX8iRHGZzH3CoKXG
        3jh8b+7FGAHTt2qNdmwRG0jH
        -----END PRIVATE KEY-----
        """

    /// The public half of `ecPrivate`.
    static let ecPublic = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEe04PWzdKvsZtJreDnWFNqmjd/NKq
        XwQGEaNFCSw/VMbCC05vHQDjohvOS8SVdcmQ8Wo50hrNGFSGT9kUkGg4tg==
        -----END PUBLIC KEY-----
        """

    /// A private key without a passphrase.
    static let ecPrivate = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgi/ZPYIDA3Pup3tPk
        IGQIr8zi2ztCHFxK9aq94WMgnHihRANCAAR7Tg9bN0q+xm0mt4OdYU2qaN380qpf
        BAYRo0UJLD9UxsILTm8dAOOiG85LxJV1yZDxajnSGs0YVIZP2RSQaDi2
        -----END PRIVATE KEY-----
        """

    /// The public half of `edPrivate`.
    static let edPublic = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEA2mhemg/DtFotiI7idit6Ub+RTVKikGB1bXbufCtIAlM=
        -----END PUBLIC KEY-----
        """

    /// A private key without a passphrase.
    static let edPrivate = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEICMXVDISAD2X/2i9tU2icjAEN1G5fGl05rRkprVKLPUp
        -----END PRIVATE KEY-----
        """

    /// `ecPrivate` behind the passphrase "passphrase".
    static let ecEncrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIH0MF8GCSqGSIb3DQEFDTBSMDEGCSqGSIb3DQEFDDAkBBCspKl27LubGV2D6lWG
        Qhh3AgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQF+duaKg6l32ny0Sm
        HuSD3gSBkDvDHhtS+cc+xVUQA1r3FmS3Extjy67jIMqb3yncBDydRpyc3BUq40Uq
        Fu69gOwFtnLESahdFu45TK9vFvWsSMWMZxLm8nYNejN52nSP2Kb7PcWCWVu/31jG
        rihfS+aRh/39ZWnJm986Zz4NfSa5vsnzZKfwK6fzkGR3jd31/j72Gef3EBI6OGZ8
        Bx5OYdPAcw==
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// An RSA key of 1024 bits.
    static let weakPublic = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCZuMb92XF4Nr/kUlJ0ZidjJNhR
        PCwXANIGnc0vD+WyuJHSyAMK109INY0b9XhLBlZL/KyFGYXt1yLSazRo7+gvvb1r
        YpWug36xdMboNhuGpHkgKxw/CnqPGYPwsFljeN3fhCoM05TViYlLb19BKOcAfMv9
        TgdZ26j5BlHDq7P8ZQIDAQAB
        -----END PUBLIC KEY-----
        """

    /// A key on another curve.
    static let p384Public = """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEPnZwa7PKaSFoI0Hzwq60IJBLZg8B4jMJ
        b4/FxqhnPXkcut8hnycuTJo7YDrIZyQ0jfgtO6N/b39jON9FiiATz9OoorH1HzRs
        m2vZ6mTVPNy+0Q8efcnXJUyeQBhR4XmP
        -----END PUBLIC KEY-----
        """

    /// The four keys as a JWKS: shared, rsa-1, ec-1, ed-1.
    static let jwks = """
        {"keys": [{"kty": "oct", "kid": "shared", "alg": "HS256", "k": "YSBzZWNyZXQgb2YgdGhl\
        IHRlc3RzLCBvZiBubyBvdGhlciB1c2U"}, {"kty": "RSA", "kid": "rsa-1", "use": "sig", "alg\
        ": "RS256", "n": "5hSGNa92bWf-QElzXqD7TJl5rOp0weTemkA-ahIExc2BQZhOwLDWSqNoIx9cGA1DqH\
        CuExruIhDJVcfMww10cos1R98bKFHSXXLeAf_5x7gAFZ6wJJj69SMfgLWbW6_hrKtEWBqGzxQVIo22Wl0EYm\
        eYTKGzP2LsjXdbYwGnhtakUi1yo6Wx_ZjDFBCillxMyBO02FCxrwEm3u56XC7Q4-K220AV7sELnCcK0e9JLQ\
        O5_F-elVADNItO2lxtqrn0zhDvJQMyPXlkT-PQ2bcy18rladHUs0VW9J6c3p1GxzaOUefpnW_sEiLSzMffSS\
        tQ_diyq9iEomsdv24VIGWohw", "e": "AQAB"}, {"kty": "EC", "kid": "ec-1", "crv": "P-256"\
        , "x": "e04PWzdKvsZtJreDnWFNqmjd_NKqXwQGEaNFCSw_VMY", "y": "wgtObx0A46IbzkvElXXJkPFq\
        OdIazRhUhk_ZFJBoOLY"}, {"kty": "OKP", "kid": "ed-1", "crv": "Ed25519", "key_ops": ["\
        verify"], "x": "2mhemg_DtFotiI7idit6Ub-RTVKikGB1bXbufCtIAlM"}]}
        """

    /// A token of each algorithm that is known, with its `kid`.
    static let tokens = [
        "HS256": """
        eyJhbGciOiJIUzI1NiIsImtpZCI6InNoYXJlZCIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsImlhdCI\
        6MTgwMDAwMDAwMCwibmJmIjoxODAwMDAwMDAwLCJleHAiOjE4MDAwMDM2MDAsImlzcyI6Imh0dHBzOi8vaXN\
        zdWVyLmV4YW1wbGUiLCJhdWQiOlsiY2hhdCIsIm90aGVyIl19.uoYxUXuSfHUUwMxwEgIN19J4Rz7LQvGjj4\
        tjX67n4AM
        """,
        "RS256": """
        eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYS0xIiwidHlwIjoiSldUIn0.eyJzdWIiOiJhbGljZSIsImlhdCI6\
        MTgwMDAwMDAwMCwibmJmIjoxODAwMDAwMDAwLCJleHAiOjE4MDAwMDM2MDAsImlzcyI6Imh0dHBzOi8vaXNz\
        dWVyLmV4YW1wbGUiLCJhdWQiOlsiY2hhdCIsIm90aGVyIl19.xTo22x5HjAyFdFfmxSSZByEQl1NT_i6ZdOE\
        e1CE7w_vJ-sY21wXZwQeQfpLM8Rvt7V23sMIoMbRNCJu-7sP2xYhg6bSj1dYk-ury2A6tQzqiRfhBVRy7VhN\
        wxfsht3PtkCDGhL-LC_3jNwnhv0a5jgKMa-_O8gQ5b5PMiw37mk1ADfsSA97UhP1nwMKz6LiCdDoCqHsL0gH\
        k2lHCUpaLDZTHUcs28mPhTI-XNDgA--f0uufCh5IfQjrEBjVWu3INh-0B17SyKIArFJUCeVPaV7A71fszMwp\
        pO2tnCL8BhLaYSyGqlUsjkNmCPvr59SjNALyeKzs_rsKesgYYZByGaQ
        """,
        "ES256": """
        eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjLTEiLCJ0eXAiOiJKV1QifQ.eyJzdWIiOiJhbGljZSIsImlhdCI6M\
        TgwMDAwMDAwMCwibmJmIjoxODAwMDAwMDAwLCJleHAiOjE4MDAwMDM2MDAsImlzcyI6Imh0dHBzOi8vaXNzd\
        WVyLmV4YW1wbGUiLCJhdWQiOlsiY2hhdCIsIm90aGVyIl19.Iv9RixtCkcYda6QQzUGF5EQt34gWxCSlwK1y\
        AzJ-sAZ8O6m8UzOhTJ5BjdNvzF4IaY_vKkF9_xmYUiCbolspGg
        """,
        "EdDSA": """
        eyJhbGciOiJFZERTQSIsImtpZCI6ImVkLTEiLCJ0eXAiOiJKV1QifQ.eyJzdWIiOiJhbGljZSIsImlhdCI6M\
        TgwMDAwMDAwMCwibmJmIjoxODAwMDAwMDAwLCJleHAiOjE4MDAwMDM2MDAsImlzcyI6Imh0dHBzOi8vaXNzd\
        WVyLmV4YW1wbGUiLCJhdWQiOlsiY2hhdCIsIm90aGVyIl19.yAOhy-BPIY2t6RH4miF3u7RKbqFIeQKniIqS\
        FxOA_Or2XCPBDAkgfeeApMWv5jKioBuF3banh1BOUd9NYD8nBw
        """,
    ]

    /// Tokens of algorithms that are not known, signed well.
    static let foreign = [
        "HS512": """
        eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsImlhdCI6MTgwMDAwMDAwMCwibmJ\
        mIjoxODAwMDAwMDAwLCJleHAiOjE4MDAwMDM2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1wbGUiLCJ\
        hdWQiOlsiY2hhdCIsIm90aGVyIl19.byMZ-wcfc0ffvI5iMQfE0cwNkeKg1iNForOzjRxyE9xz243HS7kBYv\
        ZW2KGMjsAIPhJuLkjDwG71CvRYlIPINA
        """,
        "PS256": """
        eyJhbGciOiJQUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsImlhdCI6MTgwMDAwMDAwMCwibmJ\
        mIjoxODAwMDAwMDAwLCJleHAiOjE4MDAwMDM2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1wbGUiLCJ\
        hdWQiOlsiY2hhdCIsIm90aGVyIl19.kAGe2BcGg2f_A0CqLXekoqv7jOOxeKqpdhvg7hcfb74Tvpf4ksAv3j\
        ZbGsg6R_ovB0ERo90y8IyAEc00ia8a-WA30asA2MHd1las-kJw84vaTlcFKUMLDV71TCs0I6Nyiaif6jyzRn\
        pZkvDpAt6DBUKabMn-0DkuRyHA3nfyLxlCPYLsxT0TOqF1TkqIxdzRM4kq0cZhVDZL7MPchgaowPZKInLEpi\
        k7ZyYB843NhXs2Eks1fMQUd1yEVBozFi6R9dmSPAQxD0Er1IGxWl8FtEqVCEwwKOBbSsbU5efdwgLXDjzOs7\
        rCHWNVOUVcIb_YswkSuNTCqilacyEkVxE-tg
        """,
        "RS512": """
        eyJhbGciOiJSUzUxMiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsImlhdCI6MTgwMDAwMDAwMCwibmJ\
        mIjoxODAwMDAwMDAwLCJleHAiOjE4MDAwMDM2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1wbGUiLCJ\
        hdWQiOlsiY2hhdCIsIm90aGVyIl19.j-yDPByRwu059s-FZD7FpWo3WtR03VmeG9-gbZWVDQR5-dFQE05Qj9\
        QKFZ8vOrefhl8DNVn6f0NJpj9d8wuAdNNadBTK1mRcuOi0_kratVREXSXcoCgEy7dbxm3I5hl6oc_b6iwC4u\
        xIrYuxZdHMk2XzB1mmAyeKqvHvgk8-aUjRxtdfzWgVQFQp4H0TJz6gimP-pUNEj9I2LxPNfQ9WOVMojVsUxB\
        HG1BUl_7I_epIt6owTz44N60RVdICFJuMJepq1Lf9TtnAEo0dXfK36RkZDCoNajzDeKtrPM3VNTE8PwPu_ff\
        ERKFuVvV4AbowfBze5atHwzCxBKcy01fchuQ
        """,
        "ES384": """
        eyJhbGciOiJFUzM4NCIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsImlhdCI6MTgwMDAwMDAwMCwibmJ\
        mIjoxODAwMDAwMDAwLCJleHAiOjE4MDAwMDM2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1wbGUiLCJ\
        hdWQiOlsiY2hhdCIsIm90aGVyIl19.aUTMHsajheh_M43NvBkzybonLKbFfHdnzpuhTKQY5xzVIzVcB_gNWQ\
        5Na8QJ3L699_w2_PwxrAZUN4JmD-mLpiMAfzMRvkD3q-kPbEcukSUtuo8OX9zZfJHDi3tJIFDA
        """,
        "none": """
        eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJhbGljZSIsImlhdCI6MTgwMDAwMDAwMCwibmJm\
        IjoxODAwMDAwMDAwLCJleHAiOjE4MDAwMDM2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1wbGUiLCJh\
        dWQiOlsiY2hhdCIsIm90aGVyIl19.
        """,
    ]

    /// HS256 under the PEM text of `rsaPublic`: what algorithm confusion looks like.
    static let confused = """
        eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiAiYWxpY2UiLCAiaWF0IjogMTgwMDAwMDAwMCw\
        gIm5iZiI6IDE4MDAwMDAwMDAsICJleHAiOiAxODAwMDAzNjAwLCAiaXNzIjogImh0dHBzOi8vaXNzdWVyLmV\
        4YW1wbGUiLCAiYXVkIjogWyJjaGF0IiwgIm90aGVyIl19._cAa7Rey22duHN6dwIBVGDek3VTq93fpOW0TMk\
        8E2rk
        """
}
