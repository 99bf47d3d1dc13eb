package v1beta2

// Condition types. Ready summarises the others of the same object.
const (
	// ConditionReady is True when the object fulfils its purpose: an image can be deployed, every image of a catalog is ready.
	ConditionReady = "Ready"
	// ConditionCredentialsAvailable is True when the identity Secret exists and holds the keys that are needed.
	ConditionCredentialsAvailable = "CredentialsAvailable"
	// ConditionImagesReady is True when every image that a catalog wants is ready in every zone.
	ConditionImagesReady = "ImagesReady"
	// ConditionFetched is True when the bytes of an image have been downloaded by the manager.
	ConditionFetched = "Fetched"
	// ConditionVerified is True when digest, format and content of an image have been checked.
	ConditionVerified = "Verified"
	// ConditionRegistered is True when CloudStack lists a template for the image.
	ConditionRegistered = "Registered"
)

// Reasons of work in progress and of success.
const (
	// ReasonReady says that all is well.
	ReasonReady = "Ready"
	// ReasonSuspended says that spec.suspend stops all work on the object.
	ReasonSuspended = "Suspended"
	// ReasonPaused says that the paused annotation stops all work on the object.
	ReasonPaused = "Paused"
	// ReasonResolving says that names are being turned into CloudStack ids.
	ReasonResolving = "Resolving"
	// ReasonQueued says that the work waits for its turn.
	ReasonQueued = "Queued"
	// ReasonFetching says that the manager downloads the source.
	ReasonFetching = "Fetching"
	// ReasonVerifying says that digest and content are being checked.
	ReasonVerifying = "Verifying"
	// ReasonRegistering says that a template is being created in CloudStack.
	ReasonRegistering = "Registering"
	// ReasonDownloading says that CloudStack downloads the template.
	ReasonDownloading = "Downloading"
	// ReasonUploading says that the manager uploads the image to CloudStack.
	ReasonUploading = "Uploading"
	// ReasonInstalling says that CloudStack checks and installs what it received.
	ReasonInstalling = "Installing"
	// ReasonAdopted says that an existing template is used.
	ReasonAdopted = "Adopted"
	// ReasonProgressing says that images of a catalog are still on their way.
	ReasonProgressing = "Progressing"
	// ReasonDeleting says that the object is being deleted.
	ReasonDeleting = "Deleting"
	// ReasonRetained says that the template stays in CloudStack because of the delete policy.
	ReasonRetained = "Retained"
	// ReasonInUse says that something still uses the image, so it is kept.
	ReasonInUse = "InUse"
	// ReasonRetired says that an image left its catalog and waits to be deleted.
	ReasonRetired = "Retired"
)

// Reasons of failures a person can do something about.
const (
	// ReasonInvalidSpec says that the spec contradicts itself in a way the schema cannot see.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonContentChanged says that an entry was changed after its image had been imported.
	ReasonContentChanged = "ContentChanged"
	// ReasonSecretNotFound says that the identity Secret does not exist.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonSecretInvalid says that the identity Secret lacks a key or holds an unusable value.
	ReasonSecretInvalid = "SecretInvalid"
	// ReasonCredentialsRefused says that CloudStack does not accept the credentials.
	ReasonCredentialsRefused = "CredentialsRefused"
	// ReasonAPIUnreachable says that the CloudStack API cannot be reached or does not answer sensibly.
	ReasonAPIUnreachable = "APIUnreachable"
	// ReasonThrottled says that CloudStack takes no more calls of these credentials for a moment.
	ReasonThrottled = "Throttled"
	// ReasonRequestRefused says that CloudStack refuses a call that only looks, changes or removes something.
	ReasonRequestRefused = "RequestRefused"
	// ReasonNotPermitted says that the account may not do what is needed.
	ReasonNotPermitted = "NotPermitted"
	// ReasonQuotaExceeded says that a limit of the account, domain or project is reached.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonOwnerNotFound says that the project, domain or account does not exist or cannot be seen.
	ReasonOwnerNotFound = "OwnerNotFound"
	// ReasonZoneNotFound says that no such zone can be seen.
	ReasonZoneNotFound = "ZoneNotFound"
	// ReasonZoneDisabled says that the zone takes no new work.
	ReasonZoneDisabled = "ZoneDisabled"
	// ReasonHypervisorNotInZone says that no host of the zone has the hypervisor.
	ReasonHypervisorNotInZone = "HypervisorNotInZone"
	// ReasonHypervisorAmbiguous says that the zone has several hypervisors and none was chosen.
	ReasonHypervisorAmbiguous = "HypervisorAmbiguous"
	// ReasonOSTypeNotFound says that CloudStack knows no such OS type.
	ReasonOSTypeNotFound = "OSTypeNotFound"
	// ReasonTemplateNotFound says that the template to adopt does not exist or cannot be seen.
	ReasonTemplateNotFound = "TemplateNotFound"
	// ReasonTemplateAmbiguous says that several templates fit and none is taken.
	ReasonTemplateAmbiguous = "TemplateAmbiguous"
	// ReasonTemplateLost says that the template vanished from CloudStack behind our back.
	ReasonTemplateLost = "TemplateLost"
	// ReasonImagesFailed says that at least one image of a catalog failed.
	ReasonImagesFailed = "ImagesFailed"
	// ReasonNoImages says that a catalog wants no image at the moment.
	ReasonNoImages = "NoImages"
)

// Reasons of failures of an import: the source, its content and what CloudStack made of it.
const (
	// ReasonDownloadNotStarted says that CloudStack accepted the template but never began to download it.
	ReasonDownloadNotStarted = "DownloadNotStarted"
	// ReasonDownloadTimeout says that the download by CloudStack did not end in time.
	ReasonDownloadTimeout = "DownloadTimeout"
	// ReasonInstallTimeout says that CloudStack did not finish installing in time.
	ReasonInstallTimeout = "InstallTimeout"
	// ReasonInstallFailed says that CloudStack failed to install what it received.
	ReasonInstallFailed = "InstallFailed"
	// ReasonUploadFailed says that CloudStack refused the upload, or it broke off.
	ReasonUploadFailed = "UploadFailed"
	// ReasonContentRejected says that the content is not an acceptable image; status.contentCode tells why.
	ReasonContentRejected = "ContentRejected"
	// ReasonContentMismatch says that CloudStack's size differs from the size that was verified.
	ReasonContentMismatch = "ContentMismatch"
	// ReasonChecksumMismatch says that the bytes do not have the digest that was promised.
	ReasonChecksumMismatch = "ChecksumMismatch"
	// ReasonChecksumUnavailable says that the checksum file cannot be had or does not name the image.
	ReasonChecksumUnavailable = "ChecksumUnavailable"
	// ReasonWeakChecksum says that only MD5 or SHA-1 vouches for the image.
	ReasonWeakChecksum = "WeakChecksum"
	// ReasonChecksumSkipped says that no checksum vouches for the image, by the user's choice.
	ReasonChecksumSkipped = "ChecksumSkipped"
	// ReasonSourceUnreachable says that the source does not answer.
	ReasonSourceUnreachable = "SourceUnreachable"
	// ReasonSourceMissing says that the source answers 404 or 410.
	ReasonSourceMissing = "SourceMissing"
	// ReasonSourceForbidden says that the source answers 401 or 403, or its address is not allowed.
	ReasonSourceForbidden = "SourceForbidden"
	// ReasonSourceRedirects says that the source redirects where it must not.
	ReasonSourceRedirects = "SourceRedirects"
	// ReasonSourceInvalid says that the source answers with something other than an image file.
	ReasonSourceInvalid = "SourceInvalid"
	// ReasonTooLarge says that the image exceeds a limit of size.
	ReasonTooLarge = "TooLarge"
	// ReasonDiskFull says that the manager has no room for the image.
	ReasonDiskFull = "DiskFull"
	// ReasonDeliveryImpossible says that no delivery mode can bring the image into the zone.
	ReasonDeliveryImpossible = "DeliveryImpossible"
	// ReasonInternalError says that something failed unexpectedly and is tried again.
	ReasonInternalError = "InternalError"
)
